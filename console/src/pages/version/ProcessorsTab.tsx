import { ProcessorsTable } from './ProcessorsTable.tsx'
import { useVersion } from './use-version.ts'

/** The list of a version's processors, and why some of them do not sync (spec 2.9, `/processors`). */
export default function ProcessorsTab() {
  const squid = useVersion()
  const withReason = (squid.processors ?? []).filter(({ reason }) => reason !== null)
  return (
    <>
      <ProcessorsTable squid={squid} />
      {withReason.length > 0 && (
        <dl className="mt-4 flex flex-col gap-2">
          {withReason.map(({ name, reason }) => (
            <div key={name} className="flex flex-wrap gap-x-3">
              <dt>
                <code>{name}</code>
              </dt>
              <dd className="min-w-0 flex-1 basis-80 text-ink-2">{reason}</dd>
            </div>
          ))}
        </dl>
      )}
    </>
  )
}
