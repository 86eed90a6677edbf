import { useApiMutation } from '../../../api/mutation.ts'
import { useDeniedReason } from '../../../components/access.tsx'
import { confirm } from '../../../components/confirm.ts'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { StatusDot } from '../../../components/StatusDot.tsx'
import { useTicking } from '../../../lib/ticker.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { Tag } from '../../../ui/Badge.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Card } from '../../../ui/Card.tsx'
import type { Tone } from '../../../ui/tones.ts'
import { Certificate } from './Certificate.tsx'
import { isChecking, seedDomain, seedRemovedDomain, type Domain } from './queries.ts'
import { Records } from './Records.tsx'

const appearance: Record<Domain['state'], { tone: Tone; label: string; isPulsing?: boolean }> = {
  WAITING_FOR_DNS: { tone: 'info', label: 'Waiting for DNS', isPulsing: true },
  ISSUING: { tone: 'info', label: 'Ordering certificate', isPulsing: true },
  ACTIVE: { tone: 'good', label: 'Working' },
  FAILED: { tone: 'bad', label: 'Failed' },
}

type Props = {
  code: string
  domain: Domain
  /** Whether a version has the tag; undefined while loading. */
  hasVersion: boolean | undefined
}

/** One domain: its state, its problem if it has one, its records and certificate, and its actions. */
export function DomainCard({ code, domain, hasVersion }: Props) {
  const { name, squid, tag, state } = domain
  const { label, ...dot } = appearance[state]
  const reference = `${squid}:${tag}`
  const url = `https://${name}/graphql`
  return (
    <Card title={<span className="wrap-anywhere">{name}</span>} aside={<StatusDot {...dot}>{label}</StatusDot>}>
      <div className="flex flex-col gap-4 p-3.5">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          Serves <Tag>{reference}</Tag> at{' '}
          {state === 'ACTIVE' ? (
            <a
              href={url}
              target="_blank"
              rel="noreferrer"
              className="min-w-0 wrap-anywhere text-accent hover:underline"
            >
              {url}
            </a>
          ) : (
            <code className="min-w-0 wrap-anywhere">{url}</code>
          )}
        </p>
        <Problem domain={domain} />
        {hasVersion === false && (
          <Alert tone="warn" title={`No version has the tag ${reference}`}>
            The domain responds with an error until you set the tag on a version of {squid}.
          </Alert>
        )}
        <div>
          <p className="font-medium">DNS records</p>
          <p className="mb-2.5 text-ink-2">Set both at the DNS provider of the domain.</p>
          <Records domain={domain} />
        </div>
        <div>
          <p className="font-medium">Certificate</p>
          <p className="text-ink-2">
            <Certificate domain={domain} />
          </p>
        </div>
      </div>
      <Footer code={code} domain={domain} />
    </Card>
  )
}

/** Shows what is wrong with the domain, and what to do. While the domain waits for DNS, `Records` shows the problems of its records instead. */
function Problem({ domain: { state, problem, records, certificate } }: { domain: Domain }) {
  if (problem === null) return null
  const isAboutRecord = records.some((record) => record.problem === problem)
  if (state === 'WAITING_FOR_DNS')
    return isAboutRecord ? null : (
      <Alert tone="warn" title="Not served yet">
        {problem}
      </Alert>
    )
  if (state === 'ACTIVE')
    return isAboutRecord ? (
      <Alert tone="warn" title="Its DNS records have changed">
        {problem} The domain is deactivated after a day without its records.
      </Alert>
    ) : null
  return certificate === null ? (
    <Alert tone="bad" title="Deactivated, because its DNS records no longer prove control">
      {problem} Set the records again, and press Check now.
    </Alert>
  ) : (
    <Alert tone="bad" title="The certificate could not be ordered">
      <p className="wrap-anywhere">{problem}</p>
      <p className="mt-1">
        Shoal orders it again automatically. If this continues, check that the domain points only here, and that its CAA
        records allow the authority.
      </p>
    </Alert>
  )
}

function Footer({ code, domain }: { code: string; domain: Domain }) {
  const deniedReason = useDeniedReason('organization.write')
  const { name, checkedAt, nextCheckAt } = domain
  const params = { code, name }
  const isDue = useTicking((nowMs) => isChecking(domain, nowMs))
  const check = useApiMutation('domains.check', {
    invalidates: [],
    seeds: (client, changed) => seedDomain(client, code, changed),
  })
  const remove = useApiMutation('domains.remove', {
    invalidates: ['domains.list'],
    seeds: (client) => seedRemovedDomain(client, code, name),
    errorDisplay: 'caller',
  })
  const confirmRemoval = () =>
    confirm({
      title: `Remove ${name}?`,
      body: 'Shoal stops serving it immediately, and deletes its certificate. Remove its DNS records afterwards.',
      confirmLabel: 'Remove domain',
      isDanger: true,
      action: () => remove.mutateAsync({ params }),
    })
  return (
    <footer className="flex flex-wrap items-center gap-2 border-t border-line px-3.5 py-2.5">
      <p className="min-w-0 flex-1 basis-60 text-sm text-ink-3">
        {checkedAt === null ? (
          'Not checked yet. '
        ) : (
          <>
            Checked <RelativeTime at={checkedAt} />.{' '}
          </>
        )}
        {isDue
          ? 'Checking now.'
          : nextCheckAt !== null && (
              <>
                Next check <RelativeTime at={nextCheckAt} />.
              </>
            )}
        {nextCheckAt === null && 'Its records were missing for a week, so it is checked only when you press Check now.'}
      </p>
      <div className="flex gap-2">
        <Button
          size={28}
          aria-label={`Check now: ${name}`}
          isPending={check.isPending}
          disabledReason={deniedReason}
          onClick={() => check.mutate({ params })}
        >
          Check now
        </Button>
        <Button
          size={28}
          variant="ghost"
          aria-label={`Remove ${name}`}
          disabledReason={deniedReason}
          onClick={confirmRemoval}
        >
          Remove
        </Button>
      </div>
    </footer>
  )
}
