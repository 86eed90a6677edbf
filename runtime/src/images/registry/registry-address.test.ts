import { expect, test } from 'vitest'
import { parseImageReference, parseRegistry, repositoryOf } from './registry-address.ts'

const digest = `sha256:${'0a'.repeat(32)}`

test.each([
  ['images.example.com', 'https://images.example.com', ''],
  ['images.example.com:5000/team/squids/', 'https://images.example.com:5000', 'team/squids'],
  ['https://images.example.com/a', 'https://images.example.com', 'a'],
  ['http://10.0.0.5:5000/a', 'http://10.0.0.5:5000', 'a'],
  ['10.0.0.5:5000', 'https://10.0.0.5:5000', ''],
  ['localhost:5000/a', 'http://localhost:5000', 'a'],
  ['127.0.0.1:5000', 'http://127.0.0.1:5000', ''],
  ['https://localhost:5000', 'https://localhost:5000', ''],
  ['localhost.example.com', 'https://localhost.example.com', ''],
  ['docker.io/someone', 'https://registry-1.docker.io', 'someone'],
])('the registry %s is at %s', (text, origin, path) => {
  expect(parseRegistry(text)).toMatchObject({ origin, path })
})

test.each(['', 'user:password@images.example.com', 'ftp://images.example.com', 'a b', 'host/Upper', 'host/a//b'])(
  'refuses %j as a registry',
  (text) => expect(() => parseRegistry(text)).toThrow(/is not the address of a registry|must consist of/),
)

test.each([
  ['docker.io/library/node:20-slim', 'docker.io', 'library/node', '20-slim'],
  ['localhost:5000/base', 'localhost:5000', 'base', 'latest'],
  [`images.example.com/a/b@${digest}`, 'images.example.com', 'a/b', digest],
  [`images.example.com/a/b:tag@${digest}`, 'images.example.com', 'a/b', digest],
])('the image %s has the host %s, the repository %s and the reference %s', (text, host, repository, reference) => {
  expect(parseImageReference(text)).toMatchObject({ host, repository, reference })
})

test.each(['node', 'images.example.com', 'host/a@sha256:1', 'host/a:sha256:1', 'host/a:.'])(
  'refuses %j as an image',
  (text) => expect(() => parseImageReference(text)).toThrow(Error),
)

test('a tenant whose name is not a valid repository name gets another repository name', () => {
  const address = parseRegistry('localhost:5000/squids')
  expect(repositoryOf(address, 'o12', 'hash')).toBe('squids/o12')
  expect(repositoryOf(address, 'o../../x', 'hash')).toBe('squids/xhash')
  expect(repositoryOf(parseRegistry('localhost:5000'), 'o12', 'hash')).toBe('o12')
})
