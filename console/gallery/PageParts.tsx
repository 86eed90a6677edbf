import type { LogEntry } from '@shoal/contract'
import { Pause } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import { ActionButton } from '../src/components/ActionButton.tsx'
import { AlertSeverity } from '../src/components/AlertSeverity.tsx'
import { LinkButton } from '../src/components/LinkButton.tsx'
import { MarkedText } from '../src/components/MarkedText.tsx'
import { NavTabs } from '../src/components/NavTabs.tsx'
import { SetupGuide } from '../src/components/SetupGuide.tsx'
import { TermsLink } from '../src/components/TermsLink.tsx'
import { TimeRangePicker } from '../src/components/time-range/TimeRangePicker.tsx'
import { LogRow } from '../src/pages/logs/view/LogRow.tsx'
import { rowHeights } from '../src/pages/logs/view/row-layout.ts'
import { NativeSelect } from '../src/ui/NativeSelect.tsx'
import { Skeleton } from '../src/ui/Skeleton.tsx'
import { Grid, Line, Section } from './Section.tsx'

const day = { id: '24h', label: 'Last 24 hours', ms: 86_400_000 }
const ranges = { options: [day], defaultRange: day }
const hibernate = { label: 'Hibernate', icon: Pause, run: () => {} }
const noop = () => {}
const navTabs = [
  { to: '/', label: 'General' },
  { to: '/secrets', label: 'Logs' },
  { to: '/rpc', label: 'Metrics', disabledReason: 'The version is hibernated.' },
] as const

const entry = (level: LogEntry['level'], payload: LogEntry['payload'], container = 'processor'): LogEntry => ({
  id: level,
  timestamp: '2026-09-02T11:58:01.208Z',
  level,
  container,
  payload,
})
const entries = [
  entry('INFO', '18000012 / 18002000, rate: 22 blocks/sec, mapping: 240 blocks/sec, eta: 1m'),
  entry('WARNING', { msg: 'The RPC endpoint limits requests', url: 'https://rpc.example', delayMs: 400 }),
  entry('ERROR', 'Error: duplicate key value\n    at Object.save (store.js:12)\n    at main (main.js:4)'),
  entry('WARNING', '120 lines are missing here', 'shoal'),
  entry('DEBUG', 'GET /graphql 200', 'api'),
]
const recipes = ['cURL', 'viem'].map((label) => ({
  id: label,
  label,
  text: `With ${label}:`,
  code: 'curl -X POST https://rpc.example/ethereum',
}))

function onResize(listener: () => void): () => void {
  addEventListener('resize', listener)
  return () => removeEventListener('resize', listener)
}

/** The parts of pages other than lists and charts. */
export function PageParts() {
  const isPhone = useSyncExternalStore(onResize, () => innerWidth < 480)
  return (
    <>
      <Section title="Page parts">
        <Line>
          <ActionButton action={hibernate} />
          <ActionButton action={{ ...hibernate, disabledReason: 'A deployment is in progress.' }} />
          <LinkButton to="/">Open logs</LinkButton>
          <LinkButton to="/" variant="primary" disabledReason="Only administrators may do this.">
            Deploy squid
          </LinkButton>
          <AlertSeverity severity="CRITICAL" />
          <AlertSeverity severity="WARNING" />
        </Line>
        <Line>
          <TimeRangePicker ranges={ranges} search={{}} onChange={noop} />
          <TimeRangePicker
            ranges={ranges}
            search={{ from: '2026-09-01T08:00:00.000Z', to: '2026-09-01T20:00:00.000Z' }}
            isUtc
            onChange={noop}
          />
        </Line>
        <Grid>
          <NativeSelect label="Country" options={[{ id: 'PT', label: 'Portugal' }]} placeholder="Choose a country" />
          <NativeSelect label="Country" options={[{ id: 'PT', label: 'Portugal' }]} error="Country is required" />
          <p>
            <MarkedText text="A word and the word of a search" search="word" />. See the <TermsLink />.
          </p>
        </Grid>
        <NavTabs label="Pages" tabs={navTabs} />
        <SetupGuide recipes={recipes} />
        <div aria-hidden>
          <Skeleton className="mb-2 h-6 w-44" />
          <Skeleton className="h-4 w-72" />
        </div>
      </Section>
      <Section title="Log lines">
        {[false, true].map((isWrapped) => (
          <div
            key={String(isWrapped)}
            role="table"
            aria-label={isWrapped ? 'Wrapped lines' : 'Lines'}
            className="overflow-hidden rounded-lg border border-line font-mono text-code leading-5.5"
          >
            {entries.map((line, index) => (
              <LogRow
                key={line.level + line.container}
                entry={line}
                number={index}
                rowIndex={index + 1}
                search="rate"
                isOpen={!isWrapped && index === 1}
                isTarget={index === 4}
                isHovered={index === 0}
                isWrapped={isWrapped}
                isUtc
                rowPx={isPhone ? rowHeights.phone : rowHeights.wide}
                onResize={noop}
              />
            ))}
          </div>
        ))}
      </Section>
    </>
  )
}
