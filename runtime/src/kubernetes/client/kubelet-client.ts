import { readFileSync } from 'node:fs'
import https, { type RequestOptions } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import type { KubeConfig } from '@kubernetes/client-node'

const PORT = 10_250
const DEADLINE_MS = 10_000

/**
 * Reads metrics of nodes from their kubelets, which accept the credentials for the API server and require the right to
 * `nodes/metrics`. Does not use the API server's proxy, since the right to use it permits running commands in every pod.
 */
export class KubeletClient {
  readonly #config: KubeConfig
  readonly #ca: Buffer | null
  readonly #agent = new https.Agent({ keepAlive: true, maxSockets: 1 })

  /** `caFile`: the certificate authority of the kubelets; null: they have the authority of the cluster. @throws if it cannot be read */
  constructor(config: KubeConfig, caFile: string | null) {
    this.#config = config
    this.#ca = caFile === null ? null : readFileSync(caFile)
  }

  /**
   * Requests a page of the kubelet at an address. The caller must read the response to its end. @throws Error with a sentence for
   * operators
   */
  async open(address: string, path: string): Promise<IncomingMessage> {
    const options: RequestOptions = {}
    await this.#config.applyToHTTPSOptions(options)
    if (this.#ca) options.ca = this.#ca
    const host = isIPv6(address) ? `[${address}]` : address
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const signal = AbortSignal.timeout(DEADLINE_MS)
      https
        .get(`https://${host}:${PORT}${path}`, { ...options, agent: this.#agent, signal })
        .on('response', resolve)
        .on('error', reject)
    })
    if (response.statusCode === 200) return response
    response.destroy()
    throw new Error(`The kubelet at ${address} responded with HTTP status ${response.statusCode}`)
  }

  close(): void {
    this.#agent.destroy()
  }
}
