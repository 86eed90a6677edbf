import { Copy } from 'lucide-react'
import { expect, test } from 'vitest'
import { actionOn, actionsOn, type ActionOn } from './actions.ts'

type Row = { name: string; isOld: boolean }
const row: Row = { name: 'alpha', isOld: false }
const calls: string[] = []
const table: Record<string, ActionOn<Row, { log: (text: string) => void }>> = {
  copy: { label: 'Copy', icon: Copy, run: ({ name }, { log }) => log(`copy ${name}`) },
  restore: { label: 'Restore', appliesTo: ({ isOld }) => isOld, run: () => {} },
  delete: {
    label: 'Delete',
    isDanger: true,
    permission: 'squids.write',
    impossibleReason: ({ name }) => (name === 'main' ? 'It cannot be deleted.' : null),
    disabledReason: ({ isOld }) => (isOld ? 'It is being deleted.' : null),
    run: () => {},
  },
}
const contextOf = (roleType: 'admin' | 'viewer') => ({
  membership: { roleType, isPlayground: false },
  log: (text: string) => void calls.push(text),
})
const reasonOf = (subject: Row, roleType: 'admin' | 'viewer') =>
  actionsOn(table, subject, contextOf(roleType)).find(({ label }) => label === 'Delete')?.disabledReason

test('a subject has the actions that apply to it, in the order of the table', () => {
  const labels = (subject: Row) => actionsOn(table, subject, contextOf('admin')).map(({ label }) => label)
  expect(labels(row)).toEqual(['Copy', 'Delete'])
  expect(labels({ ...row, isOld: true })).toEqual(['Copy', 'Restore', 'Delete'])
})

test('an action runs with its subject and its context', () => {
  const { copy } = table
  if (copy) actionOn(copy, row, contextOf('viewer')).run()
  expect(calls).toEqual(['copy alpha'])
})

test('an action is disabled if it is impossible on its subject, if the user lacks the permission, or if it cannot run now', () => {
  expect(reasonOf(row, 'admin')).toBeNull()
  expect(reasonOf(row, 'viewer')).toMatch(/role/)
  expect(reasonOf({ ...row, isOld: true }, 'admin')).toBe('It is being deleted.')
  expect(reasonOf({ ...row, name: 'main' }, 'viewer')).toBe('It cannot be deleted.')
})
