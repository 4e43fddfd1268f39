// idempotency-backend in Fastify, as its README shows it.
import Fastify from "fastify";
import idempotency from "idempotency-backend/fastify";
import { charge, counted, ready } from "../service.mjs";

const app = Fastify();
app.get("/count", async () => counted());
app.register(async (keyed) => {
  keyed.addHook("onRequest", idempotency);
  keyed.post("/charges", async (request, reply) => {
    const result = await charge(request.body);
    await request.idempotencySession.SaveResponse(result);
    reply.status(201).send(result);
  });
});
await app.listen({ port: Number(process.env.PORT), host: "127.0.0.1" });
ready();
