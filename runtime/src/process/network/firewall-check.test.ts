import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasNamespaces, runOnSimulatedHost } from './network-harness.ts'

/** Opens the networks of a server in a simulated host: a network namespace with its own interfaces, routes and firewall. */
const OPEN = `
const { NamespaceNetwork } = await import(${JSON.stringify(new URL('./namespace-network.ts', import.meta.url).href)})
const targets = { squid: [{ host: '127.0.0.1', port: 5432 }], build: [] }
const network = await NamespaceNetwork.open({ stateDir: process.argv[1], label: 'firewall', number: 0, targets })
console.log(JSON.stringify(network.limitation))
`

const host = (firewall: string) => `
mount -t tmpfs none /run
ip link add uplink type veth peer name router
ip address add 198.51.100.1/24 dev uplink
ip link set uplink up
ip route add default dev uplink
nft -f - <<'END'
${firewall}
END
`

const chain = (hook: string, rules = '') =>
  `table ip firewall { chain ${hook} { type filter hook ${hook} priority filter; policy drop; ${rules} };\n}`
const replies = 'ct state established,related accept;'

describe.skipIf(!hasNamespaces)('the firewall of the host', () => {
  let stateDir: string
  beforeEach(() => (stateDir = mkdtempSync(join(tmpdir(), 'shoal-firewall-'))))
  afterEach(() => rmSync(stateDir, { recursive: true }))

  const limitationWith = (firewall: string) => runOnSimulatedHost(host(firewall), OPEN, [stateDir])

  test('is not reported when it accepts the packets of squids', async () => {
    expect(await limitationWith('')).toBeNull()
    const forward = chain('forward', `${replies} iifname "shl*" accept;`)
    const input = chain('input', `iifname lo accept; ${replies} iifname "shl*" accept;`)
    expect(await limitationWith(`${forward}\n${input}`)).toBeNull()
  })

  test('is reported when it drops forwarded packets, as Docker’s does', async () => {
    expect(await limitationWith(chain('forward', `${replies} iifname "docker0" accept;`))).toMatch(
      /drops the packets of squids to the internet: allow what arrives at interfaces named shl\*.*docs\/security\.md/,
    )
  })

  test('is reported when it drops packets to the host, as ufw’s does', async () => {
    const firewall = `${chain('forward', replies)}\n${chain('input', `iifname lo accept; ${replies}`)}`
    expect(await limitationWith(firewall)).toContain('to the internet, their Postgres and the gateway:')
  })
})
