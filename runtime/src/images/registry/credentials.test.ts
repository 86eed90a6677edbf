import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { credentialsFrom } from './credentials.ts'

function configFile(content: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'credentials-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'config.json'), content)
  return join(folder, 'config.json')
}

const basic = (text: string) => Buffer.from(text).toString('base64')

test.each([
  ['images.example.com', { username: 'me', password: 'a:b' }],
  ['localhost:5000', { username: 'you', password: 'secret' }],
  ['docker.io', { username: 'hub', password: 'x' }],
  ['azure.example.com', { identityToken: 'refresh' }],
  ['unknown.example.com', null],
])('the credentials of %s are %j', async (host, credentials) => {
  const file = configFile(
    JSON.stringify({
      auths: {
        'https://images.example.com/v2/': { auth: basic('me:a:b') },
        'localhost:5000': { username: 'you', password: 'secret' },
        'https://index.docker.io/v1/': { auth: basic('hub:x') },
        'azure.example.com': { auth: basic('0000:'), identitytoken: 'refresh' },
      },
    }),
  )
  expect(await credentialsFrom(file)(host)).toEqual(credentials)
})

test('returns no credentials without a file', async () => {
  expect(await credentialsFrom(null)('images.example.com')).toBeNull()
})

test('reads the file again after it was replaced', async () => {
  const file = configFile(JSON.stringify({ auths: { host: { auth: basic('me:old') } } }))
  const find = credentialsFrom(file)
  await find('host')
  writeFileSync(file, JSON.stringify({ auths: { host: { auth: basic('me:new') } } }))
  expect(await find('host')).toEqual({ username: 'me', password: 'new' })
})

test('explains why it cannot use a file, without showing its content', async () => {
  await expect(credentialsFrom('/missing/config.json')('host')).rejects.toThrow('/missing/config.json cannot be read')
  await expect(credentialsFrom(configFile('{"auths": secret'))('host')).rejects.toThrow(
    /is not a configuration file of Docker \(JSON with "auths"\)$/,
  )
  await expect(credentialsFrom(configFile('{"credsStore":"desktop"}'))('host')).rejects.toThrow(
    'in the credential helper "desktop", which Shoal does not run',
  )
})
