"""Why the record and the effect belong into one transaction.

A shop takes an order. Taking it has an effect (a row in `effects`; think of money) and a record that says that
it was taken and what was answered. Between the one and the other somebody pulls the plug: the application is
killed with kill -9. Then the customer, who got no answer, tries again with the same key.

Every test here is that one story, told with another arrangement. What is asserted at the end is how often the
customer was charged.
"""

import multiprocessing
import os
import signal

import pytest

from harness.peers.sql_app import App, effects, lease_runs_out, make_effects

KEY = "order-1001"


@pytest.fixture
def shop(new_database):
    """The database with the effects. It has the schema too, though not every arrangement uses it."""
    made = new_database()
    make_effects(made)
    return made


@pytest.fixture
def elsewhere(new_database):
    """Another database: a cache, a key-value store, the records of a library that has its own connection."""
    return new_database()


def pull_the_plug():
    os.kill(os.getpid(), signal.SIGKILL)


def happens(story, *places):
    """Runs the story in a process of its own, and sees it die."""
    process = multiprocessing.get_context("fork").Process(target=story, args=places)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


# --- Record and effect in two databases ---------------------------------------------------------


def order_effect_first(shop, elsewhere):
    records, orders = App(elsewhere), App(shop)
    claim = records.claim(KEY)
    records.commit()  # 1. the key is taken
    orders.effect(KEY)
    orders.commit()  # 2. the customer is charged
    pull_the_plug()
    records.complete(claim.held)  # 3. never happens
    records.commit()


def order_record_first(shop, elsewhere):
    records, orders = App(elsewhere), App(shop)
    records.complete(records.claim(KEY).held, 201, [], b"your order is taken")
    records.commit()  # 1. recorded as done
    pull_the_plug()
    orders.effect(KEY)  # 2. never happens
    orders.commit()


def test_two_databases_and_a_retry_is_two_effects(shop, elsewhere):
    happens(order_effect_first, shop, elsewhere)
    lease_runs_out(elsewhere)
    # The record shows an order in progress whose maker is gone. The retry guesses that it was not
    # made, and makes it again.
    records, orders = App(elsewhere), App(shop)
    again = records.claim(KEY, unknown="retry")
    assert (again.verdict, again.attempt) == ("execute", 2)
    orders.effect(KEY)
    orders.commit()
    records.complete(again.held)
    records.commit()
    assert effects(shop) == 2  # the customer paid twice


def test_two_databases_without_guessing_is_an_unknown(shop, elsewhere):
    happens(order_effect_first, shop, elsewhere)
    lease_runs_out(elsewhere)
    # Without a guess the outcome stays unknown. The customer is not charged twice, and gets no answer
    # either: somebody has to look into both databases.
    assert App(elsewhere).claim(KEY, unknown="hold").verdict == "unknown"
    assert effects(shop) == 1


def test_two_databases_the_other_way_round_is_no_effect_and_a_lie(shop, elsewhere):
    happens(order_record_first, shop, elsewhere)
    again = App(elsewhere).claim(KEY)
    assert (again.verdict, again.body) == ("replay", b"your order is taken")
    assert effects(shop) == 0  # it is not


# --- Record and effect in one transaction -------------------------------------------------------


def order_in_one_transaction(shop, crash):
    app = App(shop)
    claim = app.claim(KEY)
    if crash == "after the claim":
        pull_the_plug()
    app.effect(KEY)
    if crash == "between effect and record":
        pull_the_plug()
    app.complete(claim.held, 201, [], b"your order is taken")
    if crash == "before the commit":
        pull_the_plug()
    app.commit()
    pull_the_plug()  # before the answer goes out


def the_customer_tries_again(shop, **named):
    app = App(shop)
    again = app.claim(KEY, **named)
    if again.verdict == "execute":
        app.effect(KEY)
        app.complete(again.held, 201, [], b"your order is taken")
        app.commit()
        return b"your order is taken"
    assert again.verdict == "replay"
    return again.body


@pytest.mark.parametrize("crash", ["after the claim", "between effect and record", "before the commit",
                                   "after the commit"])
def test_one_transaction_is_one_effect_wherever_it_crashes(shop, crash):
    happens(order_in_one_transaction, shop, crash)
    # No lease has to run out and nobody has to look: what was not committed never was. (The server may take a
    # moment to notice that the application is gone; until then the key is busy.)
    wait_until_the_server_noticed(shop)
    assert the_customer_tries_again(shop) == b"your order is taken"
    assert effects(shop) == 1


# --- The claim comes from a gateway, and is committed before --------------------------------------


def order_behind_a_gateway(shop, crash):
    gateway, app = App(shop), App(shop)
    claim = gateway.claim(KEY)
    gateway.commit()  # the claim stands, whatever happens to the application …
    app.guard(claim.held)
    app.effect(KEY)
    if crash == "between effect and record":
        pull_the_plug()
    app.complete(claim.held, 201, [], b"your order is taken")
    if crash == "before the commit":
        pull_the_plug()
    app.commit()  # … and effect and outcome are one commit
    pull_the_plug()


@pytest.mark.parametrize("crash", ["between effect and record", "before the commit", "after the commit"])
def test_a_claim_that_was_committed_before_is_one_effect_too(shop, crash):
    happens(order_behind_a_gateway, shop, crash)
    wait_until_the_server_noticed(shop)
    # "In progress, and its maker is gone" is no guess any more: it means "not committed". Executing again is
    # exact, without anybody's help.
    lease_runs_out(shop)
    assert the_customer_tries_again(shop, unknown="retry") == b"your order is taken"
    assert effects(shop) == 1


def wait_until_the_server_noticed(shop):
    app = App(shop)
    while app.run("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                  "AND pid <> pg_backend_pid() AND backend_type = 'client backend'") != [(0,)]:
        app.rollback()  # pg_stat_activity is as of the first look in a transaction
        app.run("SELECT pg_sleep(0.01)")
    app.close()
