// Signing in: a named token, kept until the tab is closed and sent with every request.
import { get, token } from "../lib/api.js";
import { field, h } from "../lib/dom.js";
import { known, tell } from "../lib/store.js";
import { dialog } from "./dialog.js";
import { toast } from "./toast.js";

export const isSignedIn = () => Boolean(token.get() && known.status?.you?.name);

async function check(text) {
  const before = token.get();
  token.set(text);
  try {
    const status = await get("/api/status");
    if (!status.you?.name) throw new Error("This gateway does not know the token.");
    return status;
  } catch (failure) {
    if (before) token.set(before);
    else token.clear();
    throw failure;
  }
}

// Resolves to true if there is a token that the gateway knows.
export async function signIn(why = "Reading is free on this machine. Changes, and looking at answers, need a named token.") {
  const input = h("input", { type: "password", autocomplete: "off", required: true, spellcheck: "false", autofocus: true });
  const done = await dialog({
    title: "Sign in", action: "Sign in",
    body: [h("p", {}, why), field("Token", input),
      h("p", { class: "quiet" }, "It is kept in this tab only. With the embedded store, it is the second word of the file ",
        h("code", { class: "mono" }, "admin-token"), " beside the data; otherwise one of ",
        h("code", { class: "mono" }, "admin.tokens_file"), ".")],
    submit: () => check(input.value.trim()),
  });
  if (!done) return false;
  known.status = done;
  tell("status");
  tell("token");
  toast(`Signed in as ${done.you.name}`);
  return true;
}

export function signOut() {
  token.clear();
  if (known.status) known.status = { ...known.status, you: { name: null, may_change: false } };
  tell("status");
  tell("token");
}

export const ensureToken = async (why) => isSignedIn() || signIn(why);
