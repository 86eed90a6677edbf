import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SimContainer } from '../sim-container.ts'
import { SimListeners } from './sim-listeners.ts'
import { SeparateListeners } from './separate-listeners.ts'

type SimSocket = { path: string; listeners: SimListeners | SeparateListeners | null }

/** Real servers on unix sockets for simulated containers, started on first use. */
export class SimServers {
  #dir: string | null = null
  #socketCount = 0
  readonly #listeners = new SimListeners()
  readonly #separateListeners = new SeparateListeners()
  /** By the key of the container, then by port. */
  readonly #sockets = new Map<string, Map<number, SimSocket>>()

  /** Returns the socket path for a port of a container. Connections are refused while the container is not running. */
  path(key: string, port: number, container: SimContainer): string {
    const ofContainer = this.#sockets.get(key) ?? new Map<number, SimSocket>()
    const socket = ofContainer.get(port) ?? {
      path: join(this.#ownDir(), `${++this.#socketCount}.sock`),
      listeners: null,
    }
    this.#sockets.set(key, ofContainer.set(port, socket))
    if (!container.isRunning || container.behaviour.listens === false || socket.listeners) return socket.path
    if (container.behaviour.isServedSeparately) {
      socket.listeners = this.#separateListeners
      const startedAt = container.observation().run?.startedAt ?? new Date()
      this.#separateListeners.open({ path: socket.path, ...container.behaviour, startedAtMs: startedAt.getTime() })
    } else {
      socket.listeners = this.#listeners
      const { behaviour } = container
      this.#listeners.open(socket.path, { behaviour, progress: () => container.progress() })
    }
    return socket.path
  }

  /** Closes the servers of a container that is no longer running. */
  close(key: string): void {
    for (const socket of this.#sockets.get(key)?.values() ?? []) {
      socket.listeners?.close(socket.path)
      socket.listeners = null
    }
  }

  closeAll(): void {
    this.#listeners.closeAll()
    this.#separateListeners.closeAll()
    this.#sockets.clear()
    if (this.#dir) rmSync(this.#dir, { recursive: true, force: true })
    this.#dir = null
  }

  #ownDir(): string {
    if (this.#dir) return this.#dir
    const dir = mkdtempSync(join(tmpdir(), 'shoal-sim-'))
    // Simulated containers do not outlive the process.
    process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
    this.#dir = dir
    return dir
  }
}
