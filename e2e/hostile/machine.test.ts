import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  attackResultsPrefix,
  attackUnconfined,
  type AttackResults,
  makeAttackerSquid,
} from '../support/attacker-squid.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { addOrg } from '../support/org.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { until } from '../support/until.ts'

/** With bubblewrap, all attacks fail. Without it, separate uids stop most attacks; the other attacks succeed, which shows that they work. */
const kinds: { name: string; settings: Record<string, string>; isSandboxed: boolean }[] = [
  { name: 'bubblewrap', settings: {}, isSandboxed: true },
  {
    name: 'no sandbox and the host’s network',
    settings: { SHOAL_SANDBOX: 'none', SHOAL_NETWORK: 'none' },
    isSandboxed: false,
  },
]

const isRoot = process.getuid?.() === 0

/** Attacks that fail with and without bubblewrap, but succeed in an unconfined program of root. */
const privileges = [
  'becomes root',
  'runs a setuid program',
  'has privileges',
  'creates a device',
  'leaves its cgroup',
  'changes the kernel',
  'dumps core',
  'writes to the host',
]
const intrusions = ['reads environments of others', 'reads the private files of the host', 'signals the server']

/** Returns results in which each of these attacks has the same result. */
const all = (names: string[], result: string) => Object.fromEntries(names.map((name) => [name, result]))

/** Returns the process id of the server with this data directory. */
function serverPid(dataDir: string): string {
  const isServer = (pid: string) => {
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
      const isMain = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('server/src/main.ts')
      return isMain && environment.includes(`SHOAL_DATA_DIR=${dataDir}`)
    } catch {
      return false
    }
  }
  return readdirSync('/proc').find(isServer) ?? ''
}

describe.each(kinds)('a hostile squid on a machine with $name', ({ settings, isSandboxed }) => {
  let shoal: Shoal
  let attack: (org: string, names: string[], values?: [string, string][]) => Promise<AttackResults>
  let buildResults: AttackResults
  const folders: string[] = []

  beforeAll(async () => {
    shoal = await startShoal(settings)
    const addSquid = async (org: string) => {
      const { token, api } = await addOrg(shoal, org)
      const secrets = [{ action: 'UPDATE' as const, name: 'SECRET', value: `secret-of-${org}` }]
      await api.secrets.change({ params: { code: org }, body: { secrets } })
      const project = makeAttackerSquid(org)
      folders.push(dirname(project))
      const deployer = { shoal, org, token, api, project }
      const deployment = await waitForDeployment(deployer, await deploy(deployer, { name: org, slot: 'v1' }))
      expect(deployment.failureReason).toBeNull()
      return deployment
    }
    attack = (org, names, values = []) =>
      until(async () => {
        const query = new URLSearchParams([...names.map((name): [string, string] => ['attack', name]), ...values])
        const response = await fetch(`${shoal.gatewayUrl}/${org}/${org}@v1/api/?${query.toString()}`)
        return response.ok ? ((await response.json()) as AttackResults) : null
      }, `the squid of ${org} responds`)
    const [, { logs }] = await Promise.all([addSquid('victims'), addSquid('attackers')])
    const encoded = new RegExp(`${attackResultsPrefix}([\\w+/=]+)`).exec(JSON.stringify(logs))?.[1] ?? ''
    buildResults = JSON.parse(Buffer.from(encoded, 'base64').toString()) as AttackResults
  })

  afterAll(async () => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    await shoal?.end()
  })

  const skipUnsupported = (skip: (condition: boolean, reason: string) => void) => {
    const hasSandbox =
      shoal.isolationSummary().startsWith('sandbox bubblewrap') &&
      shoal.isolationSummary().includes('a network for each version')
    // Root can install a missing sandbox. So the tests are skipped only without root; as root, they fail.
    skip(!isRoot && (!isSandboxed || !hasSandbox), shoal.isolationSummary())
  }

  test('gains no privileges and changes nothing outside its folders', async ({ skip }) => {
    skipUnsupported(skip)
    expect(await attack('attackers', privileges)).toEqual(all(privileges, 'refused'))
  })

  test('with bubblewrap, creates no namespaces and mounts nothing', async ({ skip }) => {
    skipUnsupported(skip)
    const names = ['creates a user namespace', 'mounts a file system']
    expect(await attack('attackers', names)).toEqual(all(names, isSandboxed ? 'refused' : 'done'))
  })

  test('reads neither the environments nor the files of others', async ({ skip }) => {
    skipUnsupported(skip)
    const publicFile = join(shoal.dataDir, 'public.txt')
    writeFileSync(publicFile, 'public')
    chmodSync(publicFile, 0o644)
    const server = serverPid(shoal.dataDir)
    const { 'own sockets': sockets = '' } = await attack('victims', ['own sockets'])
    // In the sandbox, the parents of the squid's folders exist, but contain nothing else. So the attacks open files in them.
    const desired = readdirSync(join(shoal.dataDir, 'containers')).map((name) => `containers/${name}/workload.json`)
    const privateFiles = ['secrets.key', 'uids.json', 'postgres/password', 'rpc-cache.sqlite', ...desired]
    const paths = [...privateFiles.map((name) => join(shoal.dataDir, name)), '/etc/shadow', '/root', sockets]
    expect(paths.filter((path) => !existsSync(path))).toEqual([])
    const values: [string, string][] = [
      ['server', server],
      ['public', publicFile],
      ['sockets', sockets],
      ...paths.map((path): [string, string] => ['private', path]),
    ]
    expect(await attack('attackers', intrusions, values)).toEqual(all(intrusions, 'refused'))
    if (isRoot) {
      const unconfined = attackUnconfined(intrusions, shoal.dataDir, { server, private: [paths[0]] })
      expect(unconfined).toEqual(all(intrusions, 'done'))
    }
    // The victim itself has the secret and the sockets that the attacker searches for.
    const own = ['reads environments of others', 'lists sockets of others']
    expect(await attack('victims', own, values)).toEqual(all(own, 'done'))
    const hidden = ['reads the public files of the host', 'sees the server', 'lists sockets of others']
    expect(await attack('attackers', hidden, values)).toEqual(all(hidden, isSandboxed ? 'refused' : 'done'))
  })

  test('cannot exhaust the files, memory or processes of the host', async ({ skip }) => {
    skipUnsupported(skip)
    const names = ['opens files without limit', ...(isSandboxed ? ['fills /tmp'] : [])]
    expect(await attack('attackers', names)).toEqual({
      'opens files without limit': 'EMFILE true',
      ...(isSandboxed ? { 'fills /tmp': 'refused' } : {}),
    })
    if (!shoal.isolationSummary().includes('limits by cgroups'))
      return skip(true, 'cgroups cannot be created on this host')
    const { 'forks without limit': forks } = await attack('attackers', ['forks without limit'])
    expect(forks).toBe('refused after less than 512')
    const { 'exhausts memory': memory } = await attack('attackers', ['exhausts memory'])
    expect(memory).toBe('refused')
    // The neighbour and the server still respond.
    expect(await attack('victims', ['becomes root'])).toEqual({ 'becomes root': 'refused' })
    expect((await fetch(`${shoal.url}/healthz`)).ok).toBe(true)
  })

  test('has no more rights in its build than when it runs', ({ skip }) => {
    skipUnsupported(skip)
    const refusedInSandbox = ['creates a user namespace', 'mounts a file system', 'sees the server']
    const alwaysRefused = ['becomes root', 'has privileges', 'creates a device', 'writes to the host']
    expect(buildResults).toEqual({
      ...all(refusedInSandbox, isSandboxed ? 'refused' : 'done'),
      ...all(alwaysRefused, 'refused'),
      'opens files without limit': 'EMFILE true',
    })
  })
})

test('without confinement, the same attacks succeed for root', ({ skip }) => {
  skip(!isUnconfined(), 'this host confines its root user')
  const home = mkdtempSync(join(tmpdir(), 'unconfined-'))
  try {
    expect(attackUnconfined(privileges, home)).toEqual(all(privileges, 'done'))
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})

function isUnconfined(): boolean {
  try {
    accessSync('/proc/sys/kernel/core_pattern', constants.W_OK)
    return isRoot
  } catch {
    return false
  }
}
