import { createServer, type Server, type Socket } from "node:net";
import { type HookCommand, type HookMessage, type HookMessageOf, readMessage } from "./live-messages.js";

/** A process of the job that iterates a loader, while it is connected. */
export class HookConnection {
  readonly #socket: Socket;

  constructor(
    readonly hello: HookMessageOf<"hello">,
    socket: Socket,
  ) {
    this.#socket = socket;
  }

  send(command: HookCommand): void {
    this.#socket.write(`${JSON.stringify(command)}\n`);
  }
}

/** Callbacks on connections, in the order of events. */
export interface HookListener {
  connected(connection: HookConnection): void;
  said(connection: HookConnection, message: HookMessage): void;
  /** The process has ended, or its interpreter is about to end. */
  disconnected(connection: HookConnection): void;
  /** A line that is no message, a fault of pinbench itself; the connection is closed. */
  garbled(line: string): void;
}

/** The socket to which the hooks of a job's processes connect. */
export class HookServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(listener: HookListener) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      serve(socket, listener);
    });
  }

  /** Resolves when processes can connect to `path`. */
  async listen(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(path, resolve);
    });
  }

  /** Closes the sockets, which tells the hooks that the search has ended. */
  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

function serve(socket: Socket, listener: HookListener): void {
  let connection: HookConnection | null = null;
  let rest = "";
  // Reset by a process that was killed: its "close" follows.
  socket.on("error", () => undefined);
  socket.once("close", () => {
    if (connection !== null) listener.disconnected(connection);
  });
  socket.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (socket.destroyed) return;
      const message = readMessage(line);
      if (message === null || (message.type === "hello") !== (connection === null)) {
        listener.garbled(line);
        socket.destroy();
        return;
      }
      if (message.type === "hello") {
        connection = new HookConnection(message, socket);
        listener.connected(connection);
      } else listener.said(connection!, message);
    }
  });
}
