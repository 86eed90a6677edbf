import { expect, test } from 'vitest'
import { loadConfig } from './config.ts'

test('without a registry, images stay on the host', () => {
  expect(loadConfig({}).registry).toBeNull()
})

test('the registry is read with its file of credentials and its base image', () => {
  const env = {
    SHOAL_REGISTRY: 'images.example.com/squids',
    SHOAL_REGISTRY_AUTH_FILE: '/etc/shoal/registries.json',
    SHOAL_BASE_IMAGE: 'docker.io/library/node:20-slim',
  }
  expect(loadConfig(env).registry).toEqual({
    registry: 'images.example.com/squids',
    authFile: '/etc/shoal/registries.json',
    baseImage: 'docker.io/library/node:20-slim',
  })
  expect(loadConfig({ SHOAL_REGISTRY: 'localhost:5000' }).registry).toEqual({
    registry: 'localhost:5000',
    authFile: null,
    baseImage: null,
  })
})

test.each(['SHOAL_REGISTRY_AUTH_FILE', 'SHOAL_BASE_IMAGE'])('%s needs a registry', (name) => {
  expect(() => loadConfig({ [name]: 'x' })).toThrow(`SHOAL_REGISTRY must be set, because ${name} is.`)
})
