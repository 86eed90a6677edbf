import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ordinaryUser, ordinaryUserObstacle } from '../support/ordinary-user.ts'
import { makeDataDir, repositoryRoot } from '../support/shoal.ts'

/**
 * Kinds of hosts, made from this one by hiding programs, and the names of their rows in docs/security.md. The protections that the
 * server detects at its start must be those of the table, and the server must warn about each that is missing.
 */
const kinds: { name: string; user?: typeof ordinaryUser; hidden?: string[]; options?: object }[] = [
  { name: 'root, with everything' },
  { name: 'root, without bubblewrap', hidden: ['bwrap'] },
  { name: 'root, without nftables', hidden: ['nft'] },
  { name: 'root, without cgroups', options: { limits: 'none' } },
  { name: 'an ordinary user, with bubblewrap and passt', user: ordinaryUser },
  { name: 'an ordinary user, without passt', user: ordinaryUser, hidden: ['pasta'] },
  { name: 'an ordinary user, without bubblewrap and passt', user: ordinaryUser, hidden: ['pasta', 'bwrap'] },
]
const parts = ['sandbox', 'limits', 'disk', 'network', 'users'] as const

type Report = Record<(typeof parts)[number], { isProtected: boolean; problems: string[] }>

let dir: string
beforeAll(() => {
  dir = makeDataDir()
  chmodSync(dir, 0o711)
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** Detects the protections in another process, which prints them. */
const detect = `
const { prepareHost } = await import(${JSON.stringify(join(repositoryRoot, 'runtime/src/process/host.ts'))})
const { removeCgroupBase } = await import(${JSON.stringify(join(repositoryRoot, 'runtime/src/process/cgroup.ts'))})
const host = await prepareHost(JSON.parse(process.argv[1]))
await host.network.detach()
await host.disks.close()
if (host.cgroups) await removeCgroupBase(host.cgroups)
console.log(JSON.stringify(host.report))`

async function reportOf(
  { user, hidden = [], options = {} }: (typeof kinds)[number],
  stateDir: string,
): Promise<Report> {
  const find = (program: string) =>
    execFileSync('/bin/sh', ['-c', `readlink -f "$(command -v ${program})"`])
      .toString()
      .trim()
  const hide = hidden.map((program) => `mount --bind /dev/null ${find(program)}`).join('\n')
  execFileSync('mkdir', ['-p', stateDir])
  user?.takeOver(stateDir)
  const hiding = ['unshare', '--mount', '/bin/sh', '-ec', `${hide}\nexec "$@"`, 'sh']
  const detecting = [process.execPath, '--input-type=module', '-e', detect, JSON.stringify({ stateDir, ...options })]
  const [program = '', ...args] = [...hiding, ...(user?.prefix ?? []), ...detecting]
  const env = { ...process.env, HOME: stateDir, TMPDIR: stateDir }
  const { stdout } = await promisify(execFile)(program, args, { env })
  return JSON.parse(stdout) as Report
}

/** Returns the rows of the table of docs/security.md whose header contains the names of the parts. */
function documented(): Map<string, string[]> {
  const lines = readFileSync(join(repositoryRoot, 'docs/security.md'), 'utf8').split('\n')
  const start = lines.indexOf(`| what the server detects on | ${parts.join(' | ')} |`)
  const rows = lines
    .slice(start + 2, lines.indexOf('', start))
    .map((line) => line.split('|').map((cell) => cell.trim()))
  return new Map(rows.map(([, name = '', ...cells]) => [name, cells.slice(0, parts.length)]))
}

test('docs/security.md lists the protections that the server detects on each kind of host, and the server warns about the missing ones', async ({
  skip,
}) => {
  const obstacle = ordinaryUserObstacle()
  skip(obstacle !== null, obstacle ?? '')
  const table = documented()
  expect([...table.keys()]).toEqual(kinds.map(({ name }) => name))
  const detected = new Map<string, string[]>()
  const silent: string[] = []
  for (const [index, kind] of kinds.entries()) {
    const report = await reportOf(kind, join(dir, String(index)))
    detected.set(
      kind.name,
      parts.map((part) => (report[part].isProtected ? 'yes' : 'no')),
    )
    // Without bubblewrap, its warning says that squids run as the user of the server.
    const warned = (part: (typeof parts)[number]) =>
      report[part].problems.length > 0 || (part === 'users' && report.sandbox.problems.length > 0)
    for (const part of parts) if (!report[part].isProtected && !warned(part)) silent.push(`${kind.name}: ${part}`)
  }
  expect(Object.fromEntries(detected)).toEqual(Object.fromEntries(table))
  expect(silent).toEqual([])
})
