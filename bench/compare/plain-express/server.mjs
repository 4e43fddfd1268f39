// A service that knows nothing of keys.
import express from "express";
import { charge, counted, ready } from "../service.mjs";

const app = express();
app.use(express.json());
app.get("/count", (request, response) => response.json(counted()));
app.post("/charges", async (request, response) => response.status(201).json(await charge(request.body)));
app.listen(Number(process.env.PORT), "127.0.0.1", ready);
