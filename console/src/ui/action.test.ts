import { expect, test } from 'vitest'
import { groupsOf, type Action } from './action.ts'

const action = (label: string, more: Partial<Action> = {}): Action => ({ label, run: () => {}, ...more })

test('actions with a section are the first groups of a menu, and dangerous actions the last', () => {
  const groups = groupsOf([
    action('Delete', { isDanger: true }),
    action('Copy'),
    action('Admin', { section: 'Role' }),
    action('Restart'),
    action('Viewer', { section: 'Role' }),
  ])
  expect(groups.map(({ title, actions }) => [title, ...actions.map(({ label }) => label)])).toEqual([
    ['Role', 'Admin', 'Viewer'],
    [undefined, 'Copy', 'Restart'],
    [undefined, 'Delete'],
  ])
})
