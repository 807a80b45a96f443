"""The page at ``/``: a request to edit and send, and its reply."""

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>System One</title>
<style>
  body { font: 15px/1.4 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
         padding: 0 1rem }
  textarea, pre { width: 100%; box-sizing: border-box; font: 13px/1.4 ui-monospace, monospace }
  textarea { height: 20rem }
  pre { background: #f4f4f4; padding: 1rem; overflow: auto; min-height: 4rem }
  input { width: 20rem }
</style>
<h1>System One</h1>
<p>Models: <span id="models">…</span> · <a href="openapi.json">OpenAPI</a></p>
<p><label>Key, if the server needs one: <input id="key" type="password"></label></p>
<textarea id="request" spellcheck="false">{
  "model": "default",
  "state": "I was charged twice for the same order.",
  "questions": {
    "team": {
      "type": "choice",
      "instructions": "Which team should answer?",
      "criteria": {
        "billing": "Payments, invoices and refunds",
        "shipping": "Parcels and delivery dates",
        "other": "None of these"
      }
    },
    "angry": {"type": "noul", "instructions": "Is the customer angry?"},
    "urgency": {"type": "score", "criteria": ["can wait", "today", "at once"]}
  }
}</textarea>
<p><button id="send">Send</button> <span id="status"></span></p>
<pre id="reply"></pre>
<script>
  const find = (id) => document.getElementById(id);
  const headers = () => {
    const key = find("key").value;
    return {"content-type": "application/json", ...(key ? {authorization: `Bearer ${key}`} : {})};
  };
  fetch("health").then((r) => r.json()).then((r) => {
    find("models").textContent = r.models.join(", ");
  });
  find("send").onclick = async () => {
    const r = await fetch("v1/systemone",
      {method: "POST", headers: headers(), body: find("request").value});
    find("status").textContent = `${r.status} · ${r.headers.get("x-clm-latency-ms")} ms`;
    find("reply").textContent = JSON.stringify(await r.json(), null, 2);
  };
</script>
"""
