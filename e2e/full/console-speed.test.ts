import { expect, test } from 'vitest'
import type { Result } from '../../scripts/bench/support/result.ts'
import { bench as cold } from '../../scripts/bench-web/cold.ts'
import { bench as interactions } from '../../scripts/bench-web/interactions.ts'
import { bench as list } from '../../scripts/bench-web/list.ts'
import { bench as listLighthouse } from '../../scripts/bench-web/list-lighthouse.ts'
import { bench as routes } from '../../scripts/bench-web/routes.ts'
import { bench as signIn } from '../../scripts/bench-web/sign-in.ts'

const benches = [signIn, list, listLighthouse, routes, cold, interactions]

test.each(benches)('the console reaches the targets of the benchmark $name', { timeout: 900_000 }, async (bench) => {
  const missed: Result[] = []
  for await (const result of bench.run({ isWriting: false })) if (!result.holds) missed.push(result)
  expect(missed).toEqual([])
})
