// idempotency-backend in Express, as its README shows it.
import express from "express";
import idempotency from "idempotency-backend/express";
import { charge, counted, ready } from "../service.mjs";

const app = express();
app.use(express.json());
app.get("/count", (request, response) => response.json(counted()));
app.use(idempotency);
app.post("/charges", async (request, response) => {
  const result = await charge(request.body);
  await request.idempotencySession.SaveResponse(result);
  response.status(201).json(result);
});
app.listen(Number(process.env.PORT), "127.0.0.1", ready);
