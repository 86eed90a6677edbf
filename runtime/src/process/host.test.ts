import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { prepareHost, shortcomings } from './host.ts'

const all = { isRoot: true, hasUids: true, bwrap: { is: 'usable' }, hasCgroups: true } as const

test('a host with all features has no limitations', () => {
  expect(shortcomings(all)).toEqual([])
})

test.each([
  ['as root', true, 'the list of its processes'],
  ['as an ordinary user', false, 'read its files, keys and the data of others'],
])('without bubblewrap, %s, the message names the package and the consequences', (_, isRoot, open) => {
  const [sentence, ...more] = shortcomings({ ...all, isRoot, hasUids: isRoot, bwrap: { is: 'missing' } })
  expect(sentence).toContain('The package bubblewrap is not installed (apt-get install bubblewrap).')
  expect(sentence).toContain(open)
  expect(more).toEqual([])
})

test('bubblewrap that is installed but does not work is reported with its own error', () => {
  const [sentence] = shortcomings({
    ...all,
    bwrap: { is: 'blocked', reason: 'bwrap: No permissions to create namespace' },
  })
  expect(sentence).toMatch(
    /^bubblewrap is installed but does not work here: bwrap: No permissions to create namespace\. Without it/,
  )
})

test('a disabled sandbox is neither checked nor reported as missing', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'shoal-host-'))
  onTestFinished(() => rmSync(stateDir, { recursive: true }))
  const host = await prepareHost({ stateDir, sandbox: 'none', limits: 'none' })
  expect(host).toMatchObject({ sandbox: 'none', summary: expect.stringContaining('no sandbox (bubblewrap is off)') })
  expect(host.shortcomings.join('\n')).toContain('The sandbox is disabled (SHOAL_SANDBOX=none).')
})
