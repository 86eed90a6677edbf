import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { respond, type SimProgram } from './sim-responses.ts'

/** Listens on the unix sockets of simulated programs. One HTTP server handles all connections, since each has its own timer. */
export class SimListeners {
  readonly #open = new Map<string, { server: Server; connections: Set<Socket> }>()
  readonly #programs = new WeakMap<Socket, SimProgram>()
  readonly #http = createHttpServer((request, response) => {
    const program = this.#programs.get(request.socket)
    if (program) respond(program, request, response)
  })

  /** Starts to listen for a program. */
  open(path: string, program: SimProgram): void {
    const connections = new Set<Socket>()
    const server = createServer((socket) => {
      this.#programs.set(socket, program)
      connections.add(socket)
      socket.once('close', () => connections.delete(socket))
      this.#http.emit('connection', socket)
    })
    // `listen` binds the socket before it returns.
    server.listen(path).unref()
    this.#open.set(path, { server, connections })
  }

  /** Stops listening, and ends all connections to the program. */
  close(path: string): void {
    const { server, connections } = this.#open.get(path) ?? {}
    server?.close()
    for (const connection of connections ?? []) connection.destroy()
    this.#open.delete(path)
  }

  closeAll(): void {
    for (const path of this.#open.keys()) this.close(path)
  }
}
