import type { Squid } from '@shoal/contract'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeBareSquid } from '../support/bare-squid.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { writeHasuraStandIn } from '../support/hasura-stand-in.ts'
import { addOrg, type Org } from '../support/org.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { until } from '../support/until.ts'

/** Tests the addon `hasura` with the process driver and a stand-in for Hasura (`hasura-stand-in.ts`). */
describe('the addon hasura', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hasura-'))
  const project = makeBareSquid('with-hasura')
  let shoal: Shoal
  let org: Org

  const manifest = (env: Record<string, string>) => {
    const variables = Object.entries({ HASURA_GRAPHQL_ADMIN_SECRET: '${{ secrets.HASURA_SECRET }}', ...env })
    return `manifest_version: subsquid.io/v0.1
name: with-hasura
deploy:
  addons:
    postgres:
    hasura:
      env:
${variables.map(([name, value]) => `        ${name}: "${value}"`).join('\n')}
  init: false
  processor:
    cmd: [node, processor.js]
scale:
  dedicated: true
  addons:
    hasura: {profile: medium, replicas: 2}
`
  }

  beforeAll(async () => {
    // Squids run as other users, who must be able to execute the program.
    chmodSync(folder, 0o755)
    shoal = await startShoal({ SHOAL_HASURA_PROGRAM: writeHasuraStandIn(folder) })
    org = await addOrg(shoal, 'acme-labs')
    const secrets = [{ action: 'UPDATE' as const, name: 'HASURA_SECRET', value: 'hunter2' }]
    await org.api.secrets.change({ params: { code: org.org }, body: { secrets } })
  })

  afterAll(async () => {
    await shoal?.end()
    for (const path of [folder, dirname(project)]) rmSync(path, { recursive: true, force: true })
  })

  const params = { code: 'acme-labs', reference: 'with-hasura@v1' }
  const cloud = () => ({ shoal, project, org: org.org, token: org.token, api: org.api })
  const deployWith = async (env: Record<string, string>, tag?: string) => {
    writeFileSync(join(project, 'squid.yaml'), manifest(env))
    return await waitForDeployment(
      cloud(),
      await deploy(cloud(), { name: 'with-hasura', slot: 'v1', ...(tag && { tag }) }),
    )
  }
  const untilHasura = (status: 'AVAILABLE' | 'NOT_AVAILABLE'): Promise<Squid> =>
    until(async () => {
      const squid = await org.api.squids.get({ params })
      return squid.addons.hasura?.status === status && squid.status !== 'DEPLOYING' ? squid : null
    }, `Hasura is ${status}`)
  const query = async (reference = 'with-hasura@v1', secret = 'hunter2') => {
    const response = await fetch(`${shoal.gatewayUrl}/${org.org}/${reference}/hasura/v1/graphql`, {
      method: 'POST',
      headers: { 'x-hasura-admin-secret': secret },
    })
    return { status: response.status, text: await response.text() }
  }

  test('runs the operator’s program, and the gateway reaches it', async () => {
    const deployment = await deployWith({ MARKER: 'first' }, 'prod')
    expect(deployment.failureReason).toBeNull()
    expect(deployment.logs.map(({ message }) => message).join('\n')).toContain('/hasura/v1/graphql')
    const squid = await untilHasura('AVAILABLE')
    expect(squid.addons.hasura).toMatchObject({ replicas: 2, profile: 'medium', reason: null })
    expect(squid.addons.hasura?.urls).toEqual(
      [':prod', '@v1'].map((version) =>
        expect.objectContaining({ url: `${shoal.gatewayUrl}/acme-labs/with-hasura${version}/hasura/v1/graphql` }),
      ),
    )
    expect((await query()).text).toContain('"marker":"first"')
    expect((await query('with-hasura:prod')).text).toContain('query_root')
    expect((await query('with-hasura@v1', 'wrong')).text).toContain('access-denied')
    await until(async () => {
      const { logs } = await org.api.logs.history({ params, query: { container: ['hasura'] } })
      return logs.some(({ payload, container }) => container === 'hasura' && String(payload).includes('serving with'))
    }, 'the log contains the line that Hasura printed')
  })

  test('an update replaces Hasura; if the update fails, the old program keeps running, and the deployment says why', async () => {
    expect((await deployWith({ MARKER: 'second' })).failureReason).toBeNull()
    expect((await query()).text).toContain('"marker":"second"')
    const failed = await deployWith({ STAND_IN: 'fails' })
    expect(failed).toMatchObject({ failed: 'REQUIREMENTS', failureReason: expect.stringMatching(/^hasura(-2)? /) })
    expect(failed.logs.map(({ message }) => message).join('\n')).toContain('the metadata is inconsistent')
    expect((await query()).text).toContain('"marker":"second"')
  })

  test('Hasura is restarted, hibernated, rolled back and deleted with its version', async () => {
    const { id } = await org.api.squids.restart({ params })
    expect((await waitForDeployment(cloud(), id)).failureReason).toBeNull()
    expect((await query()).text).toContain('"marker":"second"')

    await waitForDeployment(cloud(), (await org.api.squids.hibernate({ params })).id)
    const hibernated = await untilHasura('NOT_AVAILABLE')
    expect(hibernated.addons.hasura?.reason).toContain('hibernated')
    expect((await query()).status).toBe(503)

    const listed = { squidId: String(hibernated.id), limit: '50', logs: 'false' } as const
    const deployments = await org.api.deployments.list({ params: { code: org.org }, query: listed })
    const first = deployments.findLast(({ type }) => type === 'DEPLOY')
    const rollback = await org.api.squids.rollback({ params, body: { deploymentId: Number(first?.id) } })
    expect((await waitForDeployment(cloud(), rollback.id)).failureReason).toBeNull()
    expect((await query()).text).toContain('"marker":"first"')

    await waitForDeployment(cloud(), (await org.api.squids.delete({ params })).id)
    await until(async () => (await query()).status === 404, 'the deleted version has no Hasura')
  })
})
