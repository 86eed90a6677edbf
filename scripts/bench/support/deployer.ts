import { startShoal, type Shoal } from '../../../e2e/support/shoal.ts'
import { openClient, type PublicClient } from '../../public-client.ts'
import { answeredAt } from './squid.ts'

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

  /** `env` are settings of the server. */
  static async start(rpcUrl: string, env: Record<string, string> = {}): Promise<Deployer> {
    const shoal = await startShoal(env)
    await shoal.cli('user', 'add', '--email', email, '--name', 'Bench', '--password', 'correct-horse')
    await shoal.cli('org', 'add', '--code', org, '--name', 'Bench', '--email', email)
    await shoal.cli('org', 'set-status', '--code', org, '--status', 'ACTIVE')
    const { token } = await shoal.cli<{ token: string }>('token', 'add', '--email', email, '--name', 'bench')
    const deployer = new Deployer(shoal, await openClient(), token)
    await deployer.#must('auth', '-k', token, '-h', `${shoal.url}/api`)
    await deployer.#must('secrets', 'set', 'RPC_URL', rpcUrl, '-o', org)
    return deployer
  }

  /** An API client. */
  client(): ReturnType<Shoal['as']> {
    return this.shoal.as(this.#token)
  }

  async #must(...args: string[]): Promise<void> {
    const { code, stdout, stderr } = await this.#sqd(...args)
    if (code !== 0) throw new Error(`sqd ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`)
  }

  /** The GraphQL URL of `name@slot`. */
  endpoint(reference: string): string {
    return `${this.shoal.gatewayUrl}/${org}/${reference}/api/graphql`
  }

  /** Resolves when the client exits. */
  async deploy(folder: string, slot: string): Promise<void> {
    const flags = ['--no-interactive', '--no-stream-logs', '--allow-update', '--allow-manifest-override']
    await this.#must('deploy', folder, '-o', org, '-s', slot, ...flags)
  }

  /** Deploys the example, and returns the seconds from `sqd deploy` to the expected response through the gateway. */
  async deployUntilAnswered(folder: string, slot: string, transfers: number): Promise<number> {
    const startedAt = performance.now()
    const [countedAtMs] = await Promise.all([
      answeredAt(this.endpoint(`erc20-transfers@${slot}`), transfers),
      this.deploy(folder, slot),
    ])
    return (countedAtMs - startedAt) / 1000
  }

  async end(): Promise<void> {
    this.#sqd.close()
    await this.shoal.end()
  }
}
