import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../clock.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'
import { maxOutputLines, openJournal } from './journal.ts'
import { listLogs } from './log-store.ts'

let t: DeployApp
let d: Deployer
let slots = 0
beforeAll(async () => {
  t = await startDeployApp()
  d = await t.deployer()
})
afterAll(() => t?.close())

const newJournal = async (id?: number, redact = (text: string) => text) => {
  const deploymentId = id ?? (await d.deploy({}, { slot: `s${++slots}` })).id
  return {
    id: deploymentId,
    journal: await openJournal({
      db: t.app.db,
      clock: systemClock,
      deploymentId,
      redactor: async () => redact,
    }),
  }
}
const messages = async (id: number) => (await listLogs(t.app.db, id)).map((l) => l.message)

test('lines keep their order, even when another writer continues the log', async () => {
  const { id, journal } = await newJournal()
  for (let n = 0; n < 2_500; n++) journal.output('info', `line ${n}`)
  journal.warn('careful')
  await journal.flush()
  const next = await newJournal(id)
  next.journal.error('the end')
  await next.journal.flush()
  const lines = await messages(id)
  expect(lines).toEqual([...Array.from({ length: 2_500 }, (_, n) => `line ${n}`), 'careful', 'the end'])
})

test('output of programs is limited, with a notice; messages of the engine are always kept', async () => {
  const { id, journal } = await newJournal()
  for (let n = 0; n < maxOutputLines + 500; n++) journal.output('info', 'x')
  journal.error('the reason')
  await journal.flush()
  const lines = await messages(id)
  expect(lines).toHaveLength(maxOutputLines + 1)
  expect(lines.at(-2)).toContain('the rest is omitted')
  expect(lines.at(-1)).toBe('the reason')
})

test('colours are kept, other escape sequences and NULs are removed, lone surrogates replaced, and very long lines cut', async () => {
  const { id, journal } = await newJournal()
  journal.output('info', '\u001b[31mred\u001b[0m\u001b[2J\0 \ud800')
  journal.output('info', 'y'.repeat(100_000))
  await journal.flush()
  const [first, second] = await messages(id)
  expect(first).toBe('\u001b[31mred\u001b[0m �')
  expect(second).toHaveLength(4_000 + ' … (cut)'.length)
})

test('a secret whose characters have different colours is removed', async () => {
  const { id, journal } = await newJournal(undefined, (text) => text.replaceAll('hunter2', '***'))
  journal.output('info', 'password \u001b[31mhunt\u001b[32mer2\u001b[0m')
  await journal.flush()
  expect(await messages(id)).toEqual(['password ***'])
})

test('a writer whose line numbers were used by another writer fails', async () => {
  const { id, journal } = await newJournal()
  const late = await newJournal(id)
  journal.info('mine')
  await journal.flush()
  late.journal.info('theirs')
  await expect(late.journal.flush()).rejects.toThrow()
  late.journal.info('more')
  await late.journal.close('keep')
  expect(await messages(id)).toEqual(['mine'])
})
