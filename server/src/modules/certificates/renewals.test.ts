import { X509Certificate } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { hasPebble, type Pebble } from '../../../../scripts/pebble.ts'
import { revokeCertificate } from '../../cli/commands.ts'
import { days, hours } from '../../clock.ts'
import type { TestApp } from '../../testing/index.ts'
import { updateRenewalTimes, orderDueCertificates } from './maintain.ts'
import { certificateJobs, removeName } from './index.ts'
import { certificateId, readRenewalInformation } from './renewal-information.ts'
import { insertNames, selectCertificate, updateCertificate } from './store.ts'
import { exampleCertificate } from './testing/example-certificate.ts'
import { consoleName, startWithPebble } from './testing/start-with-pebble.ts'

test('the id of a certificate is that of RFC 9773', async () => {
  expect(await certificateId(exampleCertificate)).toBe('aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE')
})

describe.skipIf(!hasPebble())('with Pebble', { timeout: 120_000 }, () => {
  const domain = 'api.example.com'
  let pebble: Pebble
  let t: TestApp
  let end: () => Promise<void>

  beforeAll(async () => {
    ;({ pebble, t, end } = await startWithPebble())
  })
  afterAll(() => end?.())
  afterEach(async () => {
    for (const table of ['certificates', 'pgboss.job']) await t.app.database.pool.query(`delete from ${table}`)
  })

  const certificateOf = async (name = consoleName) => {
    const row = await selectCertificate(t.app.db, name)
    if (!row?.chain || !row.notBefore || !row.notAfter) throw new Error(`${name} has no certificate`)
    const { chain, notBefore, notAfter } = row
    return { ...row, chain, notBefore, notAfter, serial: new X509Certificate(chain).serialNumber }
  }
  const issue = async (name = consoleName) => {
    await insertNames(t.app.db, [name], name === consoleName, new Date(0))
    await orderDueCertificates(t.app)
    return await certificateOf(name)
  }
  const runRound = async () => {
    await updateRenewalTimes(t.app)
    await orderDueCertificates(t.app)
  }
  const runRevocations = () => t.runJobs(certificateJobs(t.app))

  test('a renewal moves into the window that the authority suggests, and stays there', async () => {
    const issued = await issue()
    const window = { start: new Date(Date.now() + days(3)), end: new Date(Date.now() + days(4)) }
    await pebble.suggestRenewal(issued.chain, window)
    await runRound()
    const moved = await certificateOf()
    expect(moved.nextOrderAt.getTime()).toBeGreaterThanOrEqual(window.start.getTime())
    expect(moved.nextOrderAt.getTime()).toBeLessThanOrEqual(window.end.getTime())
    // Pebble requests the next check after six hours.
    expect(Number(moved.renewalCheckAt) - Date.now()).toBeGreaterThan(hours(5))
    await updateCertificate(t.app.db, consoleName, { renewalCheckAt: new Date(0) })
    await runRound()
    expect(await certificateOf()).toMatchObject({ nextOrderAt: moved.nextOrderAt, chain: issued.chain })
  })

  test('a certificate whose window has passed, such as that of a revoked certificate, is replaced at the next round', async () => {
    const issued = await issue()
    await pebble.suggestRenewal(issued.chain, {
      start: new Date(Date.now() - days(2)),
      end: new Date(Date.now() - days(1)),
    })
    await runRound()
    expect(await certificateOf()).toMatchObject({ failures: 0, lastError: null })
    expect((await certificateOf()).serial).not.toBe(issued.serial)
  })

  test('a window after the end of the certificate does not delay its renewal beyond its lifetime', async () => {
    const issued = await issue()
    await pebble.suggestRenewal(issued.chain, {
      start: new Date(Date.now() + days(900)),
      end: new Date(Date.now() + days(901)),
    })
    await runRound()
    expect((await certificateOf()).nextOrderAt.getTime()).toBeLessThan(issued.notAfter.getTime())
  })

  test('without a valid response from the authority, the renewal stays at the time when a third of the lifetime remains', async () => {
    const issued = await issue()
    const invalidWindow = { start: new Date(Date.now() + days(2)), end: new Date(Date.now() + days(1)) }
    await pebble.suggestRenewal(issued.chain, invalidWindow)
    await expect(readRenewalInformation(t.app, issued.chain)).rejects.toThrow('ends before it starts')
    await updateRenewalTimes(t.app)
    expect((await certificateOf()).nextOrderAt).toEqual(issued.nextOrderAt)
    await pebble.stop()
    await updateCertificate(t.app.db, consoleName, { renewalCheckAt: new Date(0) })
    await updateRenewalTimes(t.app)
    await pebble.start()
    const { nextOrderAt, renewalCheckAt } = await certificateOf()
    expect(nextOrderAt).toEqual(issued.nextOrderAt)
    expect(Number(renewalCheckAt)).toBeGreaterThan(Date.now())
  })

  test('the certificate of a removed domain is revoked', async () => {
    const { serial } = await issue(domain)
    await removeName(t.app, domain)
    expect(await selectCertificate(t.app.db, domain)).toBeNull()
    expect(await pebble.revocationReason(serial)).toBeNull()
    await runRevocations()
    expect(await pebble.revocationReason(serial)).toBe(5)
  })

  test('a certificate whose domain was removed during the order is revoked, and not logged as issued', async () => {
    const { pool } = t.app.database
    await pool.query(`create function remove_name() returns trigger language plpgsql as
      $$ begin delete from certificates where name = new.name; return new; end $$`)
    await pool.query(
      'create trigger remove_name after insert on acme_challenges for each row execute function remove_name()',
    )
    onTestFinished(async () => void (await pool.query('drop function remove_name cascade')))
    await insertNames(t.app.db, [domain], false, new Date(0))
    const messages: string[] = []
    const log = pino({}, { write: (line: string) => void messages.push((JSON.parse(line) as { msg: string }).msg) })
    await orderDueCertificates({ ...t.app, log })
    expect(await selectCertificate(t.app.db, domain)).toBeNull()
    expect(messages).toEqual(['the certificate of a name that was removed during the order will be revoked'])
    const { rows } = await pool.query<{ data: { certificate: string } }>(
      "select data from pgboss.job where name = 'certificates.revoke'",
    )
    const serials = rows.map(({ data }) => new X509Certificate(data.certificate).serialNumber)
    await runRevocations()
    expect(await Promise.all(serials.map((serial) => pebble.revocationReason(serial)))).toEqual([5])
  })

  test('a revocation is queued with the removal of the domain, or not at all', async () => {
    await issue(domain)
    await expect(
      t.app.db.transaction(async () => {
        await removeName(t.app, domain)
        throw new Error('the request failed')
      }),
    ).rejects.toThrow('the request failed')
    expect(await runRevocations()).toBe(0)
    await certificateOf(domain)
  })

  test('the operator revokes a certificate: it is replaced by one with another key, and the audit log records the revocation', async () => {
    const issued = await issue()
    const options = { name: consoleName.toUpperCase(), email: '', password: '', code: '', status: '', percent: '' }
    await expect(revokeCertificate(t.app, { ...options, name: 'unknown.shoal.test' })).rejects.toThrow('no certificate')
    await expect(revokeCertificate(t.app, { ...options, reason: 'other' })).rejects.toThrow('--reason must be one of')
    expect(await revokeCertificate(t.app, options)).toEqual({ name: consoleName, reason: 'keyCompromise' })
    await runRound()
    await runRevocations()
    const replaced = await certificateOf()
    expect(await pebble.revocationReason(issued.serial)).toBe(1)
    expect(await pebble.revocationReason(replaced.serial)).toBeNull()
    const [before, after] = [issued, replaced].map(({ chain }) =>
      new X509Certificate(chain).publicKey.export({ type: 'spki', format: 'pem' }),
    )
    expect(after).not.toBe(before)
    const { rows } = await t.app.database.pool.query(
      "select subject from audit_log where action = 'cli.revokeCertificate'",
    )
    expect(rows).toEqual([{ subject: consoleName }])
  })

  test('a revocation is retried until the authority responds, and succeeds if the certificate is revoked already', async () => {
    const { serial } = await issue(domain)
    await removeName(t.app, domain)
    const [job] = certificateJobs(t.app)
    const { rows } = await t.app.database.pool.query<{ data: object }>(
      "select data from pgboss.job where name = 'certificates.revoke'",
    )
    const run = () => job?.run(rows[0]?.data as never, { id: 'id', signal: new AbortController().signal })
    t.app.config.SHOAL_ACME_DIRECTORY_URL = pebble.settings.SHOAL_ACME_DIRECTORY_URL.replace(/\d+\/dir/, '1/dir')
    await expect(run()).rejects.toThrow()
    t.app.config.SHOAL_ACME_DIRECTORY_URL = pebble.settings.SHOAL_ACME_DIRECTORY_URL
    await run()
    expect(await pebble.revocationReason(serial)).toBe(5)
    await run()
  })
})
