import type { ContainerName, Directory, PortEndpoint, EndpointListener, WorkloadId } from '../driver.ts'
import type { SimHost } from './sim-driver.ts'

/** Endpoints of simulated containers, in the process of the simulation. */
export class SimDirectory implements Directory {
  readonly #host: SimHost
  readonly #hasServers: boolean
  readonly #listeners = new Set<EndpointListener>()

  constructor(host: SimHost, hasServers: boolean) {
    this.#host = host
    this.#hasServers = hasServers
  }

  async start(): Promise<void> {}

  endpoint(id: WorkloadId, name: ContainerName, port: number): PortEndpoint | null {
    const container = this.#host.find(id, name)
    if (!container?.spec.ports.includes(port)) return null
    // Port 9 (discard) has no listener, so connections are refused, as for a container without a server.
    if (!this.#hasServers) return { kind: 'tcp', host: '127.0.0.1', port: 9 }
    return { kind: 'unix', path: this.#host.servers.path(`${id}/${name}`, port, container) }
  }

  changed(listener: EndpointListener): () => void {
    const registered: EndpointListener = (...change) => listener(...change)
    this.#listeners.add(registered)
    this.#host.listeners.add(registered)
    return () => this.#unsubscribe(registered)
  }

  async close(): Promise<void> {
    for (const registered of this.#listeners) this.#unsubscribe(registered)
  }

  #unsubscribe(registered: EndpointListener): void {
    this.#listeners.delete(registered)
    this.#host.listeners.delete(registered)
  }
}
