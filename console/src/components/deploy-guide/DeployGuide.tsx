import { isCardAdded, type Org } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Suspense, useState, type ReactNode } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { documentationUrl } from '../../lib/installation.ts'
import { Alert } from '../../ui/Alert.tsx'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { prefetch } from '../../ui/prefetch.ts'
import { SkeletonRows } from '../../ui/Skeleton.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { authCommand, deployCommand, initCommand, installCommand, type Template } from './commands.ts'
import { GuideHeader } from './GuideHeader.tsx'
import { SquidNameFields } from './SquidNameFields.tsx'
import { WaitingLine } from './WaitingLine.tsx'
import { lazyPart } from '../../lib/lazy.tsx'
import { initialEstimateQuery } from '../cost/profile-manifest.ts'

const loadEstimate = () => import('../cost/EstimateCard.tsx')
const EstimateCard = lazyPart(loadEstimate)

/** Starts to load the code and the data of the estimate at the end of the guide. A playground, which is free, has none. */
export function prefetchEstimate(client: QueryClient, { code, limits }: Org): void {
  if (limits.playground) return
  void client.prefetchQuery(initialEstimateQuery(code))
  prefetch(loadEstimate)
}

const linkClass = 'text-accent underline underline-offset-2'

/** Explains in four steps how to deploy a squid, with the commands for this installation and organization (spec 2.8). */
export default function DeployGuide() {
  const { code, status, limits } = useOrg()
  const [token, setToken] = useState('')
  const [name, setName] = useState('')
  const [template, setTemplate] = useState<Template>('evm')
  return (
    <div className="max-w-200">
      <GuideHeader />
      <ol className="mt-5 flex flex-col gap-6">
        <Step number={1} title="Install the command-line tool">
          <p>
            Install it globally, then sign in with an API token. Create one under{' '}
            <Link to="/profile/api-tokens" className={linkClass}>
              API tokens
            </Link>
            .
          </p>
          <CodeBlock code={installCommand} what="install command" isWrapped />
          <TextField
            label="API token"
            type="password"
            description="Only used to fill in the command below; it is not stored."
            value={token}
            onChange={(event) => setToken(event.target.value)}
            autoComplete="off"
            isMono
            className="max-w-90"
          />
          <CodeBlock code={authCommand(location.origin, token)} what="auth command" isWrapped>
            {authCommand(location.origin, token && '••••••••')}
          </CodeBlock>
        </Step>
        <Step number={2} title="Create a squid from a template">
          <SquidNameFields name={name} onName={setName} template={template} onTemplate={setTemplate} />
          <CodeBlock code={initCommand(name, template)} what="init command" isWrapped />
        </Step>
        <Step number={3} title="Customize it" note="Optional">
          <p>
            The template works as is. To index your own data, edit <Code>schema.graphql</Code>, the handlers in{' '}
            <Code>src/</Code> and <Code>squid.yaml</Code>, as the{' '}
            <a href={documentationUrl()} target="_blank" rel="noreferrer" className={linkClass}>
              documentation
            </a>{' '}
            explains.
          </p>
          <p>
            If <Code>squid.yaml</Code> refers to secrets, such as <Code>{'${{ secrets.RPC_URL }}'}</Code>, add them
            under{' '}
            <Link to="/secrets" className={linkClass}>
              Secrets
            </Link>{' '}
            before you deploy.
          </p>
        </Step>
        <Step number={4} title="Deploy it">
          {!limits.playground && !isCardAdded(status) && (
            <Alert tone="warn">
              Shoal refuses deployments to this organization until a card is added under{' '}
              <Link to="/billing" className={linkClass}>
                Billing
              </Link>
              .
            </Alert>
          )}
          <CodeBlock code={deployCommand(code)} what="deploy command" isWrapped />
          <WaitingLine />
        </Step>
      </ol>
      {!limits.playground && (
        <div className="mt-6">
          <Suspense fallback={<SkeletonRows count={8} />}>
            <EstimateCard code={code} />
          </Suspense>
        </div>
      )}
    </div>
  )
}

type StepProps = { number: number; title: string; note?: string; children: ReactNode }

function Step({ number, title, note, children }: StepProps) {
  return (
    <li className="flex gap-3.5">
      <span
        aria-hidden
        className="tabular grid size-7 shrink-0 place-items-center rounded-full border border-edge text-sm font-medium text-ink-2"
      >
        {number}
      </span>
      <div className="flex min-w-0 flex-1 flex-col gap-3 pt-0.5">
        <h2 className="text-md font-semibold">
          {title} {note && <span className="ml-1 text-sm font-normal text-ink-3">{note}</span>}
        </h2>
        {children}
      </div>
    </li>
  )
}

const Code = ({ children }: { children: string }) => (
  <code className="rounded-sm bg-muted px-1 font-mono text-sm">{children}</code>
)
