import { Semaphore } from '../../concurrency.ts'
import { type Policies, resolvePolicies } from './addresses.ts'
import type { NetworkTargets } from './network.ts'
import { runProgram, runScript } from './run-script.ts'

export type HostRulesOptions = {
  /** A table of the family `inet`. */
  table: string
  targets: NetworkTargets
  /** How often the rules are checked; default: 10 seconds. */
  watchMs?: number | undefined
  /** Returns a script for nft that replaces the whole table in one transaction. */
  script: (policies: Policies) => string
}

/** A table of nftables rules on the host, which is restored after a reload of the host's firewall has deleted it. */
export class HostRules {
  readonly #options: HostRulesOptions
  /** Serializes the changes of the table. */
  readonly #semaphore = new Semaphore(1)
  #loaded: { policies: Policies; rules: string } | null = null
  #watch: NodeJS.Timeout | null = null

  constructor(options: HostRulesOptions) {
    this.#options = options
  }

  /**
   * Loads the rules, unless this server has already loaded them and `script` still returns the same text, and watches them. Returns the
   * targets that the rules allow.
   */
  apply(): Promise<Policies> {
    return this.#semaphore.run(async () => {
      const loaded = this.#loaded
      const isCurrent = loaded !== null && loaded.rules === this.#options.script(loaded.policies)
      const policies = isCurrent ? loaded.policies : await this.#load()
      this.#startWatching()
      return policies
    })
  }

  async remove(): Promise<void> {
    this.detach()
    await this.#semaphore.run(async () => {
      this.#loaded = null
      await runScript(removalOf(this.#options.table))
    })
  }

  /** Stops checking the rules, which remain. */
  detach(): void {
    clearInterval(this.#watch ?? undefined)
    this.#watch = null
  }

  async #load(): Promise<Policies> {
    const { targets, script } = this.#options
    const policies = await resolvePolicies(targets)
    const rules = script(policies)
    await runProgram(['nft', '-f', '-'], rules)
    this.#loaded = { policies, rules }
    return policies
  }

  #startWatching(): void {
    const { watchMs = WATCH_MS } = this.#options
    this.#watch ??= setInterval(() => void this.#restore(), watchMs).unref()
  }

  /** Restores rules that a reload of the host's firewall has deleted. Without them, networks would be open or unusable. */
  async #restore(): Promise<void> {
    const restore = this.#semaphore.run(async () => {
      if (this.#loaded && !(await this.#rulesExist())) await this.#load()
    })
    // Fails while the host cannot start programs. The next check tries again.
    await restore.catch(() => undefined)
  }

  async #rulesExist(): Promise<boolean> {
    return await runProgram(['nft', 'list', 'chain', 'inet', this.#options.table, 'output']).then(
      () => true,
      () => false,
    )
  }
}

/** Returns a shell command that removes a table of the family `inet` if it exists. */
export const removalOf = (table: string) => `nft delete table inet ${table} 2>/dev/null || :`

const WATCH_MS = 10_000
