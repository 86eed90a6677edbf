import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { checkDns } from './check-dns.ts'

test('the check of a domain whose DNS servers never respond ends at its limit, before its queries are repeated', async () => {
  let queries = 0
  const silent = createSocket('udp4').on('message', () => void (queries += 1))
  silent.bind(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => void silent.close())
  const servers = [`127.0.0.1:${silent.address().port}`]
  const unknown = { state: 'UNKNOWN', problem: 'The DNS servers of api.example.com did not respond in time.' }
  expect(await checkDns('api.example.com', 'proof', 'squids.shoal.test', servers, 200)).toEqual({
    status: 'unknown',
    problem: unknown.problem,
    checks: { proof: unknown, target: unknown },
  })
  expect(queries).toBeLessThanOrEqual(2)
})
