import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { closeCodes } from './limits.ts'

test('docs/rpc.md explains every code with which the gateway closes a WebSocket', () => {
  const page = readFileSync(new URL('../../../../../docs/rpc.md', import.meta.url), 'utf8')
  const documented = [...page.matchAll(/^\| (\d{4}) \| /gm)].map(([, code]) => Number(code))
  expect(new Set(documented)).toEqual(new Set([1008, 1009, ...Object.values(closeCodes)]))
})
