// @node-idempotency/nestjs as its README shows it, with decorators applied by hand, since this is not TypeScript.
import "reflect-metadata";
import { Body, Controller, Get, HttpCode, Module, Post } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { Idempotent, NodeIdempotencyModule } from "@node-idempotency/nestjs";
import { charge, counted, ready } from "../service.mjs";

class ChargesController {
  create(order) {
    return charge(order);
  }
  count() {
    return counted();
  }
}
const decorate = (name, ...decorators) => {
  const method = Object.getOwnPropertyDescriptor(ChargesController.prototype, name);
  for (const decorator of decorators.reverse()) decorator(ChargesController.prototype, name, method);
};
decorate("create", Idempotent(), Post("charges"), HttpCode(201));
Body()(ChargesController.prototype, "create", 0);
decorate("count", Get("count"));
Controller()(ChargesController);

class AppModule {}
Module({
  imports: [NodeIdempotencyModule.forRootAsync({ storage: { adapter: "memory" } })],
  controllers: [ChargesController],
})(AppModule);

const app = await NestFactory.create(AppModule, { logger: ["error"] });
await app.listen(Number(process.env.PORT), "127.0.0.1");
ready();
