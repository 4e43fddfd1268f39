// express-idempotency as its README shows it.
import express from "express";
import { getSharedIdempotencyService, idempotency } from "express-idempotency";
import { charge, counted, ready } from "../service.mjs";

const app = express();
app.use(express.json());
app.get("/count", (request, response) => response.json(counted()));
app.post("*", idempotency());
app.post("/charges", async (request, response) => {
  if (getSharedIdempotencyService().isHit(request)) return;
  response.status(201).json(await charge(request.body));
});
app.listen(Number(process.env.PORT), "127.0.0.1", ready);
