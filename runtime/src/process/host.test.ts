import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findLimitations } from './host-limitations.ts'
import { prepareHost } from './host.ts'
import { findWorkFolders } from './work-folder.ts'

const allFeatures = {
  isRoot: true,
  hasUids: true,
  bwrap: { status: 'usable' },
  bwrapFeatures: { filterFile: '/filter', limitsTmp: true },
  hasCgroups: true,
} as const

test('a host with all features has no limitations', () => {
  expect(findLimitations(allFeatures)).toEqual([])
})

test.each([
  ['as root', true, 'the list of its processes'],
  ['as an ordinary user', false, 'read its files, keys and the data of others'],
])('without bubblewrap, %s, the limitation names the package and the consequences', (_, isRoot, consequence) => {
  const [sentence, ...otherLimitations] = findLimitations({
    ...allFeatures,
    isRoot,
    hasUids: isRoot,
    bwrap: { status: 'missing' },
  })
  expect(sentence).toContain('The package bubblewrap is not installed (apt-get install bubblewrap).')
  expect(sentence).toContain(consequence)
  expect(otherLimitations).toEqual([])
})

test('with bubblewrap, as an ordinary user, the limitation is that all squids have one user', () => {
  const [sentence, ...others] = findLimitations({ ...allFeatures, isRoot: false, hasUids: false })
  expect(sentence).toMatch(/^All squids run as the user of the server/)
  expect(others).toEqual([])
})

test('bubblewrap that is installed but does not work is reported with its own error', () => {
  const [sentence] = findLimitations({
    ...allFeatures,
    bwrap: { status: 'blocked', reason: 'bwrap: No permissions to create namespace' },
  })
  expect(sentence).toMatch(
    /^bubblewrap is installed but does not work here: bwrap: No permissions to create namespace\. Without it/,
  )
})

test('features that bubblewrap lacks on this host are limitations', () => {
  const limitations = findLimitations({ ...allFeatures, bwrapFeatures: { filterFile: null, limitsTmp: false } })
  expect(limitations).toEqual([
    expect.stringMatching(/^Squids may use every system call/),
    expect.stringMatching(/^Only the memory limit of a squid bounds its files in \/tmp/),
  ])
})

test('a disabled sandbox is neither checked nor reported as missing', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'shoal-host-'))
  onTestFinished(() => rmSync(stateDir, { recursive: true }))
  const host = await prepareHost({ stateDir, sandbox: 'none', limits: 'none' })
  expect(host).toMatchObject({ sandbox: 'none', summary: expect.stringContaining('no sandbox (bubblewrap is off)') })
  expect(host.limitations.join('\n')).toContain('The sandbox is disabled (SHOAL_SANDBOX=none).')
})

test('the summary says why overlays cannot be mounted', async () => {
  const stateDir = join(mkdtempSync(join(tmpdir(), 'shoal-host-')), 'a:b')
  mkdirSync(stateDir)
  onTestFinished(() => rmSync(dirname(stateDir), { recursive: true }))
  // The kernel separates lower layers with a colon.
  const { workFolders, summary } = await findWorkFolders(stateDir, true)
  expect(workFolders).toBe('links')
  expect(summary).toMatch(/^work folders of links, because overlays cannot be mounted \(.+\)$/)
  expect(readdirSync(stateDir)).toEqual([])
  expect(await findWorkFolders(stateDir, false)).toEqual({ workFolders: 'links', summary: 'work folders of links' })
})

test.skipIf(process.getuid?.() !== 0)('two installations on a host give their programs different uids', async () => {
  const dirs = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'shoal-host-')))
  try {
    const [first, second] = await Promise.all(dirs.map((stateDir) => prepareHost({ stateDir, limits: 'none' })))
    expect(first?.uidOf('version 1')).toBe(first?.uidOf('version 1'))
    expect(first?.uidOf('version 1')).not.toBe(second?.uidOf('version 1'))
  } finally {
    for (const dir of dirs) rmSync(dir, { recursive: true })
  }
})
