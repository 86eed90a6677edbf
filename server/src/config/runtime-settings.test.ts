import { expect, test } from 'vitest'
import { loadConfig } from './config.ts'

const valid = {
  SHOAL_RUNTIME: 'kubernetes',
  SHOAL_REGISTRY: 'registry.example.com',
  SHOAL_SQUIDS_DATABASE_URL: 'postgres://shoal@10.0.0.5/squids',
  SHOAL_GATEWAY_URL: 'https://{org}.squids.example.com',
  SHOAL_KUBE_GATEWAYS: '10.0.0.7, 10.1.0.0/16,namespace:shoal',
}

test('settings of a cluster are read, and are null for other runtimes', () => {
  expect(loadConfig({}).kubernetes).toBeNull()
  expect(loadConfig(valid).kubernetes).toEqual({
    kubeconfig: null,
    kubeletCaFile: null,
    logListener: null,
    builds: 'jobs',
    buildListener: null,
    gateways: [{ cidr: '10.0.0.7/32' }, { cidr: '10.1.0.0/16' }, { namespace: 'shoal' }],
    quota: { pods: '100', 'limits.cpu': '64', 'limits.memory': '128Gi' },
    cpuRequestRatio: 0.25,
    runtimeClass: null,
    pullAuthFile: null,
  })
})

test('collectors of logs need a token', () => {
  const token = 'a-token-of-24-characters'
  const listen = { ...valid, SHOAL_KUBE_LOGS_LISTEN: '[::]:4319' }
  expect(() => loadConfig(listen)).toThrow('SHOAL_KUBE_LOGS_TOKEN must be set')
  const { kubernetes } = loadConfig({ ...listen, SHOAL_KUBE_LOGS_TOKEN: token })
  expect(kubernetes?.logListener).toEqual({ host: '::', port: 4319, token })
})

test('SHOAL_KUBE_BUILDS selects where builds run, and SHOAL_KUBE_BUILDS_LISTEN where the worker listens for them', () => {
  const { kubernetes } = loadConfig({ ...valid, SHOAL_KUBE_BUILDS: 'host', SHOAL_KUBE_BUILDS_LISTEN: '10.0.0.5:4321' })
  expect(kubernetes).toMatchObject({ builds: 'host', buildListener: { host: '10.0.0.5', port: 4321 } })
})

test.each([
  ['SHOAL_KUBE_BUILDS_LISTEN', 'worker:4321', 'an IP address and a port'],
  ['SHOAL_KUBE_LOGS_LISTEN', 'localhost:4319', 'an IP address and a port'],
  ['SHOAL_KUBE_LOGS_LISTEN', '0.0.0.0:70000', 'an IP address and a port'],
  ['SHOAL_REGISTRY', '', 'SHOAL_REGISTRY must be set'],
  ['SHOAL_SQUIDS_DATABASE_URL', '', 'at an address that pods can reach'],
  ['SHOAL_SQUIDS_DATABASE_URL', 'postgres://shoal@localhost/squids', 'at an address that pods can reach'],
  ['SHOAL_GATEWAY_URL', 'http://127.0.0.1:4001/{org}', 'a URL that pods can reach'],
  ['SHOAL_KUBE_GATEWAYS', '', 'at least one IPv4 address'],
  ['SHOAL_KUBE_GATEWAYS', '10.0.0.0/33', 'a list of IPv4 addresses'],
  ['SHOAL_KUBE_QUOTA', 'pods', 'a list such as'],
  ['SHOAL_ON_EXIT', 'stop', 'a server does not own the pods'],
])('%s = "%s" is refused with a cluster', (name, value, sentence) => {
  expect(() => loadConfig({ ...valid, [name]: value })).toThrow(sentence)
})
