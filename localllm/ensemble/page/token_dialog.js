// Asks for the server's token.

import { find } from "./dom.js";

export class TokenDialog {
  /** What the user has typed; null where he would rather not. `isWrong`: one was tried. */
  ask(isWrong) {
    const dialog = find("token-dialog");
    const field = find("token");
    find("token-wrong").hidden = !isWrong;
    field.value = "";
    return new Promise((resolve) => {
      const leave = new AbortController();
      const end = (token) => {
        leave.abort();
        field.value = "";
        dialog.close();
        resolve(token);
      };
      const on = (element, event, listener) => element.addEventListener(event, listener, { signal: leave.signal });
      on(find("token-form"), "submit", (event) => {
        event.preventDefault();
        if (field.value.trim()) end(field.value.trim());
      });
      on(find("token-cancel"), "click", () => end(null));
      on(dialog, "cancel", (event) => {
        event.preventDefault();
        end(null);
      });
      dialog.showModal();
      field.focus();
    });
  }
}
