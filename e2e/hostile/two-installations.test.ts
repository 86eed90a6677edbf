import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { addOrg } from '../support/org.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { makeSpySquid } from '../support/spy-squid.ts'
import { until } from '../support/until.ts'

const isRoot = process.getuid?.() === 0
const names = ['first', 'second'] as const
type Name = (typeof names)[number]

const servers = new Map<Name, Shoal>()
const projects: string[] = []

/** Two installations on one host without bubblewrap, so that only uids separate their squids. Each has one squid with a secret. */
beforeAll(async () => {
  if (!isRoot) return
  for (const name of names) servers.set(name, await startShoal({ SHOAL_SANDBOX: 'none' }))
  await Promise.all(
    names.map(async (name) => {
      const shoal = shoalOf(name)
      const { token, api } = await addOrg(shoal, name)
      const secrets = [{ action: 'UPDATE' as const, name: 'SECRET', value: `secret-of-${name}` }]
      await api.secrets.change({ params: { code: name }, body: { secrets } })
      const project = makeSpySquid(name)
      projects.push(project)
      const tenant = { shoal, org: name, token, api, project }
      const deployment = await waitForDeployment(tenant, await deploy(tenant, { name, slot: 'v1' }))
      expect(deployment.failureReason).toBeNull()
    }),
  )
})
afterAll(async () => {
  for (const project of projects) rmSync(dirname(project), { recursive: true, force: true })
  await Promise.all([...servers.values()].map((shoal) => shoal.end()))
})

const shoalOf = (name: Name): Shoal => servers.get(name) as Shoal

/** Returns the uids of the processes whose environment contains a text. */
function uidsWith(text: string): Set<number> {
  const uids = readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(text) ? [statSync(`/proc/${pid}`).uid] : []
      } catch {
        // The process has ended.
        return []
      }
    })
  return new Set(uids.filter((uid) => uid !== 0))
}

test('a squid reads no environment of the squids of another installation on the host', async ({ skip }) => {
  skip(!isRoot, 'only root can give each version its own user')
  for (const name of names) {
    const { secrets } = await until(async () => {
      const response = await fetch(`${shoalOf(name).gatewayUrl}/${name}/${name}@v1/api/spy`)
      return response.ok ? ((await response.json()) as { secrets: string[] }) : null
    }, `the squid of ${name} has searched`)
    // The squid finds its own environment, so the search works.
    expect([...new Set(secrets)]).toEqual([`SECRET=secret-of-${name}`])
  }
  const [first, second] = names.map((name) => uidsWith(`SECRET=secret-of-${name}`))
  expect(first?.size).toBe(1)
  expect(second?.size).toBe(1)
  expect([...(first ?? [])]).not.toEqual([...(second ?? [])])
})
