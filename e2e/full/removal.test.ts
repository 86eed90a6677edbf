import { existsSync, globSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bareManifest, postgresAddon } from '../support/bare-squid.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { query, readRecords, readResources } from '../support/installation-resources.ts'
import { addOrg, adminPassword, type Org } from '../support/org.ts'
import { makePgSquid } from '../support/pg-squid.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { until } from '../support/until.ts'

const canary = 'canary-in-the-secret-5b1e07d2c4'

/** The sources of the processors, by file. Each consumes as much of one resource as it can, and writes to its log while it does. */
const attacks = {
  'log.js': `
const fs = require('node:fs')
const lines = ('x'.repeat(200) + '\\n').repeat(500)
const write = () => {
  try { fs.writeSync(1, lines) } catch { }
  setImmediate(write)
}
write()`,
  'disk.js': `
const fs = require('node:fs')
const fill = () => {
  for (const dir of [process.env.HOME, process.cwd(), '/tmp'])
    try { for (let n = 0; n < 100; n++) fs.appendFileSync(dir + '/fill-' + n, Buffer.alloc(1 << 20, 1)) } catch { }
}
fill()
console.log('attacking')
setInterval(fill, 1000)`,
  'fork.js': `
const { spawn } = require('node:child_process')
const fork = () => {
  for (let n = 0; n < 20; n++)
    spawn('setsid', ['sh', '-c', 'trap "" TERM HUP INT; sleep 1000; sleep 1000'], { stdio: 'ignore', detached: true }).on('error', () => undefined)
}
fork()
console.log('attacking')
setInterval(fork, 200)`,
  'cpu.js': `
const { Worker } = require('node:worker_threads')
console.log('attacking')
for (let n = 0; n < 16; n++) new Worker('for (;;);', { eval: true })
for (;;);`,
  // The kernel ends the program at its memory limit, then Shoal starts it again. The program attacks only when the test has created the
  // file `attack`, because a deployment fails if one of its programs is killed twice.
  'memory.js': `
const { existsSync } = require('node:fs')
const held = []
const attack = () => {
  if (!existsSync('attack')) return setTimeout(attack, 100)
  console.log('attacking')
  for (;;) held.push(Buffer.alloc(1 << 20, 1))
}
attack()`,
  'connections.js': `
const { Client } = require('pg')
const open = async () => {
  for (;;) {
    const client = new Client({ connectionString: process.env.DB_URL })
    client.on('error', () => undefined)
    await client.connect()
    await client.query('begin; create table if not exists held_' + process.pid + ' (id int)')
  }
}
const attack = () => open().catch(() => { console.log('attacking'); setTimeout(attack, 1000) })
attack()`,
}
/** Statements, before the source of each processor, that make it ignore all signals that it can ignore. */
const ignoreSignals = `for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined)\n`
const processors = Object.keys(attacks)
  .map((file) => `    - name: ${file.replace('.js', '')}\n      cmd: [node, ${file}]\n`)
  .join('')
const manifest = bareManifest('hostile', `  env:\n    SECRET: \${{ secrets.SECRET }}\n${postgresAddon}`).replace(
  '    cmd: [node, processor.js]\n',
  processors,
)

let shoal: Shoal
let org: Org
let project: string

beforeAll(async () => {
  shoal = await startShoal({ SHOAL_CONTAINER_DISK_MB: '64' })
  org = await addOrg(shoal, 'hostile')
  await org.api.secrets.change({
    params: { code: org.org },
    body: { secrets: [{ action: 'UPDATE', name: 'SECRET', value: canary }] },
  })
  project = makePgSquid('hostile', {
    'squid.yaml': manifest,
    ...Object.fromEntries(Object.entries(attacks).map(([file, source]) => [file, ignoreSignals + source])),
  })
}, 180_000)

afterAll(async () => {
  if (project) rmSync(dirname(project), { recursive: true, force: true })
  await shoal?.end()
})

const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // The process has already ended, or belongs to another user.
    return ''
  }
}
const pids = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name))
const commandLineOf = (pid: string) => textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')
const commandLines = () => pids().map(commandLineOf)
/** Returns the ids of the processes on the host whose environment contains the squid's secret, including those in another process group or session. */
const squidProcesses = () => pids().filter((pid) => textOf(`/proc/${pid}/environ`).includes(canary))

/** Deploys a version, and then starts the attack of `memory`. */
async function deploySquid(slot: string): Promise<void> {
  const deployer = { ...org, shoal, project }
  const deployment = await waitForDeployment(deployer, await deploy(deployer, { name: 'hostile', slot }))
  expect(deployment.failureReason).toBeNull()
  const programs = squidProcesses().filter((pid) => /^\S*node memory\.js $/.test(commandLineOf(pid)))
  expect(programs).toHaveLength(1)
  writeFileSync(`/proc/${programs[0]}/cwd/attack`, '')
}

const untilAttacking = (slot: string) =>
  until(
    async () => {
      const params = { code: org.org, reference: `hostile@${slot}` }
      const { logs } = await org.api.logs.history({ params, query: { limit: '100', search: 'attacking' } })
      const attackers = new Set(logs.map(({ container }) => container))
      return ['disk', 'fork', 'cpu', 'memory', 'connections'].every((name) => attackers.has(name))
    },
    'all programs attack',
    120_000,
  )

test('while a squid is deployed and runs, no command line on the host contains its secret', async () => {
  const samples = new Set<string>()
  const sampling = setInterval(() => commandLines().forEach((line) => samples.add(line)), 50)
  try {
    await deploySquid('v1')
    await untilAttacking('v1')
  } finally {
    clearInterval(sampling)
  }
  // The samples include the squid's programs, whose environments contain the secret.
  expect([...samples].some((line) => line.includes('connections.js'))).toBe(true)
  const environment = squidProcesses().map((pid) => textOf(`/proc/${pid}/environ`))
  const passwords = environment.flatMap((text) => /(?:^|\0)DB_PASS=([^\0]+)/.exec(text)?.[1] ?? [])
  expect(passwords.length).toBeGreaterThan(0)
  for (const secret of [canary, ...new Set(passwords)])
    expect([...samples].filter((line) => line.includes(secret))).toEqual([])
}, 240_000)

test('a version that attacks all resources can be deleted, and leaves nothing behind', async () => {
  const params = { code: org.org, reference: 'hostile@v1' }
  const [pid = ''] = squidProcesses()
  const [cgroups, networks] = [cgroupsOf(pid), networksOf(pid)]
  // Each kind of resource exists before the deletion. Otherwise, the checks below could pass because they search the wrong places.
  const existing = await readExisting()
  for (const [kind, names] of Object.entries({ ...existing, logins: await loginsOfSquids() }))
    expect([kind, names.length > 0]).toEqual([kind, true])
  const host = shoal.isolationSummary()
  expect(cgroups.length > 0).toBe(host.includes('limits by cgroups'))
  expect(networks.length > 0).toBe(host.includes('a network for each version'))
  const { id } = await org.api.squids.delete({ params })
  expect((await waitForDeployment(org, id)).failureReason).toBeNull()
  await expectNothingLeft()
  expect(await loginsOfSquids()).toEqual([])
  await until(() => cgroups.every((dir) => !existsSync(dir)), 'the cgroups of the version are removed')
  await until(() => networks.every((file) => !existsSync(file)), 'the network of the version is removed')
}, 240_000)

test('an organization with a version that attacks all resources can be deleted, and leaves nothing behind', async () => {
  await deploySquid('v2')
  await untilAttacking('v2')
  const { token } = await shoal.as('').auth.signIn({ body: { email: org.email, password: adminPassword } })
  await shoal.as(token).orgs.delete({ params: { code: org.org } })
  await expectNothingLeft()
  await expect(shoal.as(token).orgs.get({ params: { code: org.org } })).rejects.toMatchObject({ status: 404 })
}, 300_000)

/** Returns the folders of the process's cgroups, except those in which the tests run. */
function cgroupsOf(pid: string): string[] {
  const lines = textOf(`/proc/${pid}/cgroup`).trim().split('\n')
  const ofTests = textOf('/proc/self/cgroup').trim().split('\n')
  return lines
    .filter((line) => line && !ofTests.includes(line))
    .flatMap((line) => {
      const [, controllers = '', path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
      return globSync([`/sys/fs/cgroup/${controllers}${path}`, `/sys/fs/cgroup${path}`])
    })
}

/** Returns the files that name the network namespace of the process; none if it has that of the host, or one without a name. */
function networksOf(pid: string): string[] {
  const inode = statSync(`/proc/${pid}/ns/net`).ino
  return globSync('/run/netns/*').filter((file) => statSync(file).ino === inode)
}

/** Returns the roles of versions in the Postgres of squids. */
async function loginsOfSquids(): Promise<string[]> {
  const sql = "select rolname as name from pg_roles where rolcanlogin and rolname like 'sq%' order by 1"
  return (await query<{ name: string }>(shoal.dataDir, 'postgres', sql, [], 'postgres-squids')).map(({ name }) => name)
}

/** Returns the existing resources of all versions, by kind. */
async function readExisting() {
  const { programs, workloads, databases } = await readResources(shoal.dataDir)
  const { squidIds } = await readRecords(shoal.dataDir)
  const disks = readdirSync('/sys/block').filter((name) =>
    textOf(`/sys/block/${name}/loop/backing_file`).includes(shoal.dataDir),
  )
  const processes = squidProcesses().map(commandLineOf)
  return { programs, workloads, databases, squids: squidIds, disks, processes }
}

/** Waits until no process, record, database or disk of a squid exists. */
async function expectNothingLeft(): Promise<void> {
  const nothing = { programs: [], workloads: [], databases: [], squids: [], disks: [], processes: [] }
  const isEmpty = async () => Object.values(await readExisting()).every((names) => names.length === 0)
  await until(async () => (await isEmpty()) || null, 'nothing of the version is left', 120_000).catch(
    async (error: unknown) => {
      expect(await readExisting()).toEqual(nothing)
      throw error
    },
  )
}
