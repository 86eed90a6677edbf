import { expect, test } from 'vitest'
import { timeLabels } from './time-labels.ts'

const axis = {
  ticks: [0, 100, 200, 290],
  max: 310,
  last: 300,
  pxPerSecond: 1,
  format: (ms: number) => `${ms / 1000} s`,
}

test('the time of the last value is the last label, and a tick too close to it has none', () => {
  expect(timeLabels(axis)).toEqual({ labels: ['0 s', '100 s', '200 s', ''], end: '300 s' })
  expect(timeLabels({ ...axis, ticks: [0, 100, 200] })).toEqual({ labels: ['0 s', '100 s', '200 s'], end: '300 s' })
})

test('no label is repeated, whether by a tick or by the last label', () => {
  const day = timeLabels({ ...axis, format: (ms) => (ms < 150_000 ? '28.11' : '29.11') })
  expect(day).toEqual({ labels: ['28.11', '', '29.11', ''], end: '' })
})
