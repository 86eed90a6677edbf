import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hasNamespaces, runOnSimulatedHost } from './network-harness.ts'
import { runProgram } from './run-script.ts'
import { PREPARE_TUN, USER, asUser, reasonToSkip } from './user-harness.ts'

const FIND = `
const { findNetwork } = await import(${JSON.stringify(new URL('./find-network.ts', import.meta.url).href)})
const [mode, stateDir] = process.argv.slice(1)
const targets = { squid: [], build: [] }
const options = { stateDir, label: 'find', number: 0, targets, hasUids: true, problem: null, sandbox: null }
const { network, limitation } = await findNetwork(mode, options)
console.log(JSON.stringify({ kind: network.kind, limitation }))
process.exit()
`

/** Shell commands that remove a feature from the host. */
const hosts = {
  complete: 'mount -t tmpfs none /run',
  'without namespaces': 'mount -t tmpfs -o ro none /run',
  'that cannot count connections': `mount -t tmpfs none /run
cp "$(command -v nft)" /run/nft
cat >/run/nft-without-connlimit <<'END'
#!/bin/sh
[ "$*" = "-f -" ] || exec /run/nft "$@"
rules=$(cat)
case "$rules" in *"ct count"*) echo "Error: Could not process rule: No such file or directory" >&2; exit 1;; esac
printf '%s\\n' "$rules" | /run/nft -f -
END
chmod 755 /run/nft-without-connlimit
mount --bind /run/nft-without-connlimit "$(command -v nft)"`,
  'without any rules': 'mount -t tmpfs none /run\nset -- setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$@"',
}

describe.skipIf(!hasNamespaces)('the chosen network', () => {
  let stateDir: string
  beforeEach(() => (stateDir = mkdtempSync(join(tmpdir(), 'shoal-find-'))))
  afterEach(() => rmSync(stateDir, { recursive: true }))

  const findOn = async (prepare: string, mode = 'auto') => {
    const found = await runOnSimulatedHost(prepare, FIND, [mode, stateDir])
    return found as { kind: string; limitation: string | null }
  }

  test('is a namespace for each version', async () => {
    expect(await findOn(hosts.complete)).toEqual({ kind: 'namespace', limitation: null })
  })

  test('does not limit connections if the kernel cannot count them, and the limitation reports it', async () => {
    expect(await findOn(hosts['that cannot count connections'])).toEqual({
      kind: 'namespace',
      limitation: expect.stringContaining('cannot count connections (nft_connlimit)'),
    })
  })

  test('is the host’s with rules for uids where namespaces cannot be created; the limitation states the reason and the risks', async () => {
    const { kind, limitation } = await findOn(hosts['without namespaces'])
    expect(kind).toBe('uids')
    expect(limitation).toMatch(/^This host cannot give each version its own network: .*Read-only.*occupy ports/s)
    expect(await findOn(hosts.complete, 'uids')).toMatchObject({ kind: 'uids' })
  })

  test('is the host’s if no rules can be loaded, and the limitation names what squids can reach', async () => {
    for (const mode of ['auto', 'uids']) {
      const { kind, limitation } = await findOn(hosts['without any rules'], mode)
      expect(kind).toBe('shared')
      expect(limitation).toMatch(/cannot give each version.*loopback, private networks and the metadata service/s)
    }
  })

  test('is the host’s if the operator disables networks', async () => {
    const { kind, limitation } = await findOn(hosts.complete, 'none')
    expect(kind).toBe('shared')
    expect(limitation).toMatch(/disabled \(SHOAL_NETWORK=none\).*loopback/)
  })
})

const FIND_AS_USER = `
const { prepareHost } = await import(${JSON.stringify(new URL('../host.ts', import.meta.url).href)})
const [stateDir, network, sandbox] = process.argv.slice(1)
const host = await prepareHost({ stateDir, network, sandbox, limits: 'none' })
console.log(JSON.stringify({ kind: host.network.kind, limitations: host.limitations.join(' '), summary: host.summary }))
process.exit()
`

describe.skipIf((await reasonToSkip()) !== null)('the best network without root', () => {
  let stateDir: string
  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'shoal-find-'))
    chownSync(stateDir, USER, USER)
  })
  afterEach(() => rmSync(stateDir, { recursive: true }))

  const findWith = async (prepare: string, mode = 'auto', sandbox = 'auto') => {
    const node = [process.execPath, '--input-type=module', '-e', FIND_AS_USER, stateDir, mode, sandbox]
    const script = ['/bin/sh', '-ec', `${prepare}\nexec "$@"`, 'sh', ...asUser, ...node]
    const found = JSON.parse(await runProgram(['unshare', '--mount', ...script]))
    return found as { kind: string; limitations: string; summary: string }
  }
  const shared = (reason: string) => ({
    kind: 'shared',
    limitations: expect.stringMatching(new RegExp(`${reason}.*loopback, private networks and the metadata`, 's')),
  })

  test('is created by pasta if it works', async () => {
    const { kind, limitations, summary } = await findWith(PREPARE_TUN)
    expect({ kind, limitations }).toEqual({ kind: 'pasta', limitations: expect.not.stringContaining('network') })
    expect(summary).toContain('a network by pasta for each version')
  })

  test('is the host’s if pasta is not installed or does not work, and the limitation gives the reason', async () => {
    const withoutTun = 'mount -t tmpfs none /dev/net\nmknod -m 600 /dev/net/tun c 10 200'
    expect(await findWith(withoutTun)).toMatchObject(shared('cannot give each version.*tun'))
    const withoutPasta = `${PREPARE_TUN}\nmount --bind /dev/null "$(command -v pasta)"`
    expect(await findWith(withoutPasta)).toMatchObject(shared('apt-get install passt'))
    const withoutRules = `${PREPARE_TUN}\nmount --bind /bin/true "$(command -v nft)"`
    expect(await findWith(withoutRules)).toMatchObject(shared('do not restrict'))
  })

  test('is the host’s without a sandbox, or if the operator disables networks', async () => {
    expect(await findWith(PREPARE_TUN, 'auto', 'none')).toMatchObject(shared('needs root or bubblewrap'))
    expect(await findWith(PREPARE_TUN, 'none')).toMatchObject(shared('SHOAL_NETWORK=none'))
  })
})
