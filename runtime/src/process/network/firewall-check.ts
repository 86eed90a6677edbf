import type { HostLimitation } from '../../driver.ts'
import { runProgram, runScript } from './run-script.ts'

/** An address for documentation, which no network uses. Packets to it take the same route as packets to the internet. */
const INTERNET = '203.0.113.1'
const DISCARD_PORT = 9

/** A program that sends one packet to the internet and, if the second argument is a port, another one to that service of the host. */
const SENDER = `
const [port, service] = process.argv.slice(1).map(Number)
const exit = () => process.exit()
const connect = () => service > 0 ? require('node:net').connect(service, '127.0.0.1', exit).on('error', exit).setTimeout(200, exit) : exit()
require('node:dgram').createSocket('udp4').on('error', connect).send('', port, '${INTERNET}', connect)
`

const HOOKS = { forward: 'the internet', input: 'their Postgres and the gateway' }
type Hook = keyof typeof HOOKS

/** `prefix`: the command prefix of the network. `service`: a loopback port that it may reach. `table`: a name for temporary rules. */
type CheckedNetwork = { address: string; prefix: string[]; service: number | null; table: string }

/**
 * Checks whether a firewall of this host drops packets of a network that Shoal's rules allow: counts test packets before and after
 * the rules of other programs.
 * @returns a sentence for operators; null if all packets pass
 */
export async function findBlockingFirewall(network: CheckedNetwork): Promise<HostLimitation | null> {
  const { address, prefix, service, table } = network
  const hooks = Object.keys(HOOKS) as Hook[]
  const counts = hooks.flatMap((hook) => countRules(hook, address))
  // The table may exist, if a server was killed during its check.
  const rules = [`add table inet ${table}`, `delete table inet ${table}`, `table inet ${table} {`, ...counts, '}\n']
  await runProgram(['nft', '-f', '-'], rules.join('\n'))
  try {
    await runProgram([...prefix, process.execPath, '-e', SENDER, String(DISCARD_PORT), String(service ?? 0)])
    const counters = await runProgram(['nft', 'list', 'counters', 'table', 'inet', table])
    const blocked = hooks.filter((hook) => countOf(counters, `${hook}_after`) < countOf(counters, `${hook}_before`))
    return blocked.length === 0 ? null : limitation(blocked)
  } finally {
    await runScript(`nft delete table inet ${table}`)
  }
}

/**
 * Returns rules that count packets before Shoal's own rules, and after the rules of firewalls but before the translation of source
 * addresses.
 */
function countRules(hook: Hook, address: string): string[] {
  return Object.entries({ before: 'filter - 6', after: 'filter + 50' }).flatMap(([when, priority]) => [
    `counter ${hook}_${when} { }`,
    `chain count_${hook}_${when} { type filter hook ${hook} priority ${priority}; ip saddr ${address} counter name ${hook}_${when}; }`,
  ])
}

const countOf = (counters: string, name: string) =>
  Number(new RegExp(`counter ${name} \\{\\s+packets (\\d+)`).exec(counters)?.[1] ?? 0)

const limitation = (hooks: Hook[]) =>
  `A firewall of this host drops the packets of squids to ${hooks.map((hook) => HOOKS[hook]).join(', ')}: allow what arrives at interfaces named shl*, and its replies (see "Network" in docs/security.md).`
