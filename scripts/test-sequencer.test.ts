import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './root.ts'
import { slowFiles } from './test-sequencer.ts'

test('every file in the list of slow files exists', () => {
  expect(slowFiles.filter((file) => !existsSync(join(root, file)))).toEqual([])
})
