import { expect, test } from 'vitest'
import { overQuota, type RpcAccount } from './accounts.ts'
import { TokenBucket } from './token-bucket.ts'

const account = (fields: Partial<RpcAccount>): RpcAccount => ({
  orgId: 1,
  isPlayground: false,
  cap: null,
  used: 0,
  month: '2026-01-01',
  monthEndsMs: 0,
  rejection: null,
  rate: new TokenBucket(1),
  ...fields,
})

test('a cap admits exactly its number of requests, including requests that are not written yet', () => {
  expect(overQuota(account({ cap: 100, used: 90 }), 5, 5)).toBeNull()
  expect(overQuota(account({ cap: 100, used: 90 }), 5, 6)).toMatchObject({ status: 429 })
  expect(overQuota(account({ cap: 0 }), 0, 1)).toMatchObject({ status: 429 })
  expect(overQuota(account({ used: 10 ** 12 }), 5, 6)).toBeNull()
  expect(overQuota(account({ isPlayground: true, used: 500_000 }), 0, 1)).toMatchObject({ status: 429 })
})
