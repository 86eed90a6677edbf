import type { SecretUse } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { Alert } from '../../ui/Alert.tsx'

/** Lists the versions that still run with old values of secrets; renders nothing if there are none. */
export function OutdatedNotice({ secrets }: { secrets: readonly SecretUse[] }) {
  const outdated = new Map(
    secrets
      .flatMap(({ versions }) => versions)
      .filter(({ isOutdated }) => isOutdated)
      .map((version) => [version.reference, version]),
  )
  if (outdated.size === 0) return null
  return (
    <Alert tone="warn" title="Secrets changed, restart to apply" className="mb-4">
      These versions still run with the old values:{' '}
      {[...outdated.values()].map(({ name, slot, reference }, index) => (
        <span key={reference}>
          {index > 0 && ', '}
          <Link
            to="/squids/$squidName/$squidSlot"
            params={{ squidName: name, squidSlot: slot }}
            className="font-medium underline"
          >
            {reference}
          </Link>
        </span>
      ))}
      .
    </Alert>
  )
}
