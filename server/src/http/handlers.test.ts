import { contract } from '@shoal/contract'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { handlerFiles } from './handlers.ts'

const modules = join(import.meta.dirname, '../modules')

test('every endpoint is handled in one of the files listed for its area', () => {
  const misplaced = Object.entries(contract).flatMap(([area, endpoints]) => {
    const files = handlerFiles[area as keyof typeof handlerFiles].map((file) =>
      readFileSync(join(modules, file), 'utf8'),
    )
    return Object.keys(endpoints)
      .filter(
        (name) => files.filter((text) => new RegExp(`^ {4}(async )?${name}\\b[:,(]`, 'm').test(text)).length !== 1,
      )
      .map((name) => `${area}.${name}`)
  })
  expect(misplaced).toEqual([])
})
