import { expect, test } from 'vitest'
import { countRequests, requestsBetween, sumOfCounter } from './requests.ts'

test('requests are counted by verb, resource and subresource', () => {
  const log = [
    { verb: 'list', objectRef: { resource: 'pods' } },
    { verb: 'list', objectRef: { resource: 'pods' } },
    { verb: 'get', objectRef: { resource: 'pods', subresource: 'log' } },
    { verb: 'get' },
  ]
  const lines = log.map((line) => `${JSON.stringify(line)}\n`).join('')
  expect(countRequests(lines)).toEqual(
    new Map([
      ['list pods', 2],
      ['get pods/log', 1],
      ['get', 1],
    ]),
  )
  expect(countRequests('')).toEqual(new Map())
})

test('all samples of a counter are added up, but not those of counters whose names begin in the same way', () => {
  const metrics = `# TYPE apiserver_request_total counter
apiserver_request_total{code="200",verb="LIST"} 1.5e+03
apiserver_request_total{code="201",verb="POST"} 7
apiserver_request_total_other{code="200"} 100
apiserver_requests 100
`
  expect(sumOfCounter(metrics, 'apiserver_request_total')).toBe(1_507)
  expect(sumOfCounter('', 'apiserver_request_total')).toBe(0)
})

test('requests of other programs are all requests without those of the driver', () => {
  const before = { ofDriver: new Map([['list pods', 2]]), total: 10 }
  const ofDriver = new Map([
    ['list pods', 3],
    ['watch pods', 4],
  ])
  expect(requestsBetween(before, { ofDriver, total: 30 })).toEqual({
    driver: { 'watch pods': 4, 'list pods': 1 },
    others: 15,
  })
  expect(requestsBetween(before, { ofDriver, total: 11 }).others).toBe(0)
  expect(requestsBetween(before, before)).toEqual({ driver: {}, others: 0 })
})
