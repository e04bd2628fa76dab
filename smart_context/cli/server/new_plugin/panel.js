// The page's scripts may come from this folder; inline ones don't run.
import { Wire } from "/static/wire.js";

const total = document.getElementById("total");
const wire = new Wire(new URL("/ws", location.href.replace(/^http/, "ws")).href);
wire.on("NAME.counted", (event) => (total.textContent = event.total));
wire.onStatus(async (status) => {
  if (status === "open") total.textContent = (await wire.call("NAME.count")).answered;
});
wire.connect();
