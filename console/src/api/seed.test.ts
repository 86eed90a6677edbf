import type { AlertDelivery } from '@shoal/contract'
import { QueryClient } from '@tanstack/react-query'
import { expect, test } from 'vitest'
import { seedDelivery } from '../pages/alerts/queries.ts'
import { seedPages } from './seed.ts'

type Row = { id: number }

test('`seedPages` changes every cached page of the lists with the given parameters, and nothing else', () => {
  const client = new QueryClient()
  const key = (code: string, suffix: string) => ['alerts.listDeliveries', { params: { code } }, suffix]
  const pages = () => ({ pages: [[{ id: 3 }], [{ id: 1 }]], pageParams: ['', '3'] })
  client.setQueryData(key('acme', 'pages'), pages())
  client.setQueryData(key('other', 'pages'), pages())
  client.setQueryData(key('acme', 'not-pages'), 2)
  seedPages<Row[]>(client, 'alerts.listDeliveries', { params: { code: 'acme' } }, (rows, page) =>
    page === 0 ? [{ id: 4 }, ...rows] : rows,
  )
  expect(client.getQueryData(key('acme', 'pages'))).toEqual({
    ...pages(),
    pages: [[{ id: 4 }, { id: 3 }], [{ id: 1 }]],
  })
  expect(client.getQueryData(key('other', 'pages'))).toEqual(pages())
  expect(client.getQueryData(key('acme', 'not-pages'))).toBe(2)
})

test('a new delivery that a refetch has already returned is shown once', () => {
  const client = new QueryClient()
  const key = ['alerts.listDeliveries', { params: { code: 'acme' } }, 'pages']
  const delivery = (id: number) => ({ id }) as AlertDelivery
  client.setQueryData(key, { pages: [[delivery(3), delivery(2)], [delivery(1)]], pageParams: ['', '2'] })
  seedDelivery(client, 'acme', delivery(3))
  seedDelivery(client, 'acme', delivery(4))
  expect(client.getQueryData(key)).toMatchObject({ pages: [[{ id: 4 }, { id: 3 }, { id: 2 }], [{ id: 1 }]] })
})
