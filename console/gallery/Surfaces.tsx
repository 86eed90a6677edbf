import { EmptyState } from '../src/components/EmptyState.tsx'
import { ErrorState } from '../src/components/ErrorState.tsx'
import { MaintenanceBanner } from '../src/components/MaintenanceBanner.tsx'
import { PageHeader } from '../src/components/PageHeader.tsx'
import { RelativeTime } from '../src/components/RelativeTime.tsx'
import { StatusDot } from '../src/components/StatusDot.tsx'
import { Alert } from '../src/ui/Alert.tsx'
import { Avatar } from '../src/ui/Avatar.tsx'
import { Badge, Chip, Label, Tag } from '../src/ui/Badge.tsx'
import { Button } from '../src/ui/Button.tsx'
import { Card, KeyValue } from '../src/ui/Card.tsx'
import { CodeBlock } from '../src/ui/CodeBlock.tsx'
import { CopyField } from '../src/ui/CopyButton.tsx'
import { Kbd } from '../src/ui/Kbd.tsx'
import { ProgressBar } from '../src/ui/ProgressBar.tsx'
import { SkeletonRows } from '../src/ui/Skeleton.tsx'
import { Tabs } from '../src/ui/Tabs.tsx'
import { Grid, Line, Section } from './Section.tsx'

const hourAgo = new Date(Date.now() - 3_600_000).toISOString()
const url = 'https://acme-labs.squids.example/erc20-transfers@fj0anc/api/graphql'

/** Statuses, messages, cards and headers. */
export function Surfaces() {
  return (
    <>
      <Section title="Statuses and labels">
        <Line>
          <StatusDot tone="good" reason="At the head, 2 s behind">
            Healthy
          </StatusDot>
          <StatusDot tone="info" isPulsing>
            Processing
          </StatusDot>
          <StatusDot tone="bad">Degraded</StatusDot>
          <StatusDot tone="warn">Low space</StatusDot>
          <StatusDot tone="neutral">Hibernated</StatusDot>
        </Line>
        <Line>
          <Badge>Viewer</Badge>
          <Badge tone="accent">You</Badge>
          <Badge tone="good">Succeeded</Badge>
          <Badge tone="warn">Invited</Badge>
          <Badge tone="bad">Failed</Badge>
          <Badge tone="info">Building</Badge>
          <Label>BETA</Label>
          <Label tone="accent">PREVIEW</Label>
          <Tag isMain>production</Tag>
          <Tag>v2</Tag>
          <Chip isOn>EVM</Chip>
          <Chip isOn={false}>Substrate</Chip>
          <Kbd keys="g s" />
          <Kbd keys="Ctrl K" />
          <Avatar name="Mira Kovač" />
          <Avatar name="acme-labs" kind="organization" />
          <RelativeTime at={hourAgo} />
          <ProgressBar label="Sync" ratio={0.68} />
          <ProgressBar label="Disk" ratio={0.91} tone="warn" />
        </Line>
      </Section>
      <Section title="Messages">
        <Grid>
          <Alert tone="info">A redeploy is needed to apply it.</Alert>
          <Alert tone="good">A recovery email has been sent. Check your inbox.</Alert>
          <Alert tone="warn" title="Low database space">
            9.1 of 10 GB used. At this rate it is full in 4 days.
          </Alert>
        </Grid>
        <Alert tone="bad" title="Payment is overdue" action={<Button size={28}>Update card</Button>}>
          Please update your card details.
        </Alert>
        <MaintenanceBanner
          message="We upgrade the database. Squids keep running."
          startsAt="2026-03-14T02:00:00.000Z"
          endsAt="2026-03-14T03:00:00.000Z"
        />
        <Grid>
          <EmptyState
            title="No squids found"
            text="A squid turns blocks into a GraphQL API. Deploy one from your machine."
            action={<Button variant="primary">Deploy squid</Button>}
            command="sqd deploy --org acme-labs ."
          />
          <div className="xs:col-span-1 lg:col-span-2">
            <ErrorState what="The squids could not be loaded" error={new Error('offline')} onRetry={() => {}} />
          </div>
        </Grid>
      </Section>
      <Section title="Surfaces">
        <PageHeader
          title="erc20-transfers"
          heading={
            <>
              erc20-transfers<span className="font-mono text-lg font-normal text-ink-3">@fj0anc</span>
            </>
          }
          crumbs={[
            <a key="squids" href="#squids">
              Squids
            </a>,
            <span key="squid">erc20-transfers</span>,
          ]}
          context="Deployed 3 days ago by Mira K."
          actions={
            <>
              <Button>Copy endpoint</Button>
              <Button variant="primary">Deploy squid</Button>
            </>
          }
        />
        <Card title="Version" aside={<StatusDot tone="good">Succeeded</StatusDot>}>
          <KeyValue
            rows={[
              { label: 'Status', value: <StatusDot tone="good">Healthy</StatusDot> },
              { label: 'Canonical URL', value: <CopyField text={url} what="canonical URL" /> },
              {
                label: 'Warnings',
                value: <Alert tone="warn" title="Low database space" className="rounded-none" />,
                isFlush: true,
              },
              { label: 'Description', value: 'ERC-20 transfers with balances by holder' },
            ]}
          />
        </Card>
        <Tabs
          label="Connection"
          tabs={[
            {
              id: 'psql',
              label: 'PSQL',
              content: <CodeBlock what="command" code="psql postgres://acme:secret@db.example:5432/erc20" />,
            },
            {
              id: 'jdbc',
              label: 'JDBC',
              content: <CodeBlock what="address" isWrapped code="jdbc:postgresql://db.example:5432/erc20" />,
            },
            { id: 'off', label: 'Disabled', content: null, isDisabled: true },
          ]}
        />
        <Card title="Loading">
          <SkeletonRows count={3} />
        </Card>
      </Section>
    </>
  )
}
