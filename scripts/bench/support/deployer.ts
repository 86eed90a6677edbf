import { startShoal, type Shoal } from '../../../e2e/support/shoal.ts'
import { openClient, type PublicClient } from '../../public-client.ts'
import { readyAtMs } from './squid.ts'

const org = 'bench'
const email = 'bench@example.com'

/** A new Shoal with an organization that may deploy, and a signed-in public client. */
export class Deployer {
  readonly shoal: Shoal
  readonly org = org
  readonly #sqd: PublicClient
  readonly #token: string

  private constructor(shoal: Shoal, sqd: PublicClient, token: string) {
    this.shoal = shoal
    this.#sqd = sqd
    this.#token = token
  }

  /** Starts a Shoal and signs in. `env`: settings of the server. */
  static async start(rpcUrl: string, env: Record<string, string> = {}): Promise<Deployer> {
    const shoal = await startShoal({ SHOAL_NETWORK_ALLOW: new URL(rpcUrl).host, ...env })
    await shoal.cli('user', 'add', '--email', email, '--name', 'Bench')
    await shoal.cli('org', 'add', '--code', org, '--name', 'Bench', '--email', email)
    await shoal.cli('org', 'set-status', '--code', org, '--status', 'ACTIVE')
    const { token } = await shoal.cli<{ token: string }>('token', 'add', '--email', email, '--name', 'bench')
    const deployer = new Deployer(shoal, await openClient(), token)
    await deployer.#runClient('auth', '-k', token, '-h', `${shoal.url}/api`)
    await deployer.#runClient('secrets', 'set', 'RPC_URL', rpcUrl, '-o', org)
    return deployer
  }

  /** Creates an API client. */
  client(): ReturnType<Shoal['as']> {
    return this.shoal.as(this.#token)
  }

  async #runClient(...args: string[]): Promise<void> {
    const { code, stdout, stderr } = await this.#sqd(...args)
    if (code !== 0) throw new Error(`sqd ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`)
  }

  /** Returns the GraphQL URL of `name@slot`. */
  endpoint(reference: string): string {
    return `${this.shoal.gatewayUrl}/${org}/${reference}/api/graphql`
  }

  /** Deploys a folder with `sqd deploy`, and resolves when the client exits. */
  async deploy(folder: string, slot: string): Promise<void> {
    const flags = ['--no-interactive', '--no-stream-logs', '--allow-update', '--allow-manifest-override']
    await this.#runClient('deploy', folder, '-o', org, '-s', slot, ...flags)
  }

  /** Deploys the example, and returns the seconds from `sqd deploy` until its API returns all transfers through the gateway. */
  async deployUntilReady(folder: string, slot: string, transfers: number): Promise<number> {
    const startedAt = performance.now()
    const [endpointReadyAtMs] = await Promise.all([
      readyAtMs(this.endpoint(`erc20-transfers@${slot}`), transfers),
      this.deploy(folder, slot),
    ])
    return (endpointReadyAtMs - startedAt) / 1000
  }

  async end(): Promise<void> {
    this.#sqd.close()
    await this.shoal.end()
  }
}
