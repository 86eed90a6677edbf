import { useQuery } from '@tanstack/react-query'
import { Eye, EyeOff } from 'lucide-react'
import { useState } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { errorText, hasStatus } from '../../api/error-text.ts'
import { useApiMutation } from '../../api/mutation.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { onlyIf } from '../../api/query.ts'
import { seed } from '../../api/seed.ts'
import { QueryView } from '../../components/QueryView.tsx'
import { TeamOnly, useDeniedReason } from '../../components/access.tsx'
import { confirm } from '../../components/confirm.ts'
import { toast, unexpectedErrorTitle } from '../../lib/toasts.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { Card } from '../../ui/Card.tsx'
import { CopyField } from '../../ui/CopyButton.tsx'
import { IconButton } from '../../ui/IconButton.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { RpcHeader } from './RpcHeader.tsx'
import { prefetchToken, tokenQuery } from './queries.ts'

export const prefetch: Prefetch = ({ client, org }) => {
  if (!org.limits.playground) prefetchToken(client, org)
}

/** Shows the organization's RPC token, and lets users replace it (spec 2.11, `/rpc/token`). */
export default function TokenPage() {
  return (
    <TeamOnly>
      <RpcHeader tab="API token" />
      <Token />
    </TeamOnly>
  )
}

function Token() {
  const { code } = useOrg()
  const deniedReason = useDeniedReason('rpc.write')
  const readDeniedReason = useDeniedReason('credentials.read')
  const query = useQuery(onlyIf(readDeniedReason === null, tokenQuery(code)))
  const refresh = useApiMutation('rpc.createToken', {
    invalidates: ['rpc.getToken'],
    seeds: (client, created) => seed(client, 'rpc.getToken', { params: { code } }, () => created),
    errorDisplay: 'caller',
    onSuccess: () => toast({ tone: 'good', title: 'The RPC token has been replaced' }),
  })
  const confirmRefresh = () =>
    confirm({
      title: 'Refresh the RPC token?',
      body: 'The current token stops working immediately. Programs that use it need the new one; squids with the rpc addon get it when they restart.',
      confirmLabel: 'Refresh',
      isDanger: true,
      // Spec 8 requires a toast for a denied action, so the dialog closes.
      action: () => refresh.mutateAsync({ params: { code } }).catch(toastError),
    })
  return (
    <div className="max-w-200">
      <Card
        title="API token"
        aside={
          <Button size={28} disabledReason={deniedReason} onClick={confirmRefresh}>
            Refresh
          </Button>
        }
        isPadded
      >
        <p className="mb-2.5 text-ink-2">
          One token for all endpoints of the organization. It replaces <code>{'{TOKEN}'}</code> in the URL of each.
          Anyone who has it can make requests on your account.
        </p>
        {readDeniedReason === null ? (
          <QueryView query={query} what="The RPC token" skeleton={<Skeleton className="h-8 w-full" />}>
            {({ token }) => <HiddenToken key={token} token={token} />}
          </QueryView>
        ) : (
          <Alert tone="info">{readDeniedReason}</Alert>
        )}
      </Card>
    </div>
  )
}

const toastError = (error: unknown) =>
  toast(
    hasStatus(error, 405)
      ? { tone: 'bad', title: `Action is not allowed: ${errorText(error)}` }
      : { tone: 'bad', title: unexpectedErrorTitle, message: errorText(error) },
  )

function HiddenToken({ token }: { token: string }) {
  const [isVisible, setIsVisible] = useState(false)
  return (
    <CopyField text={token} what="RPC token" shownText={isVisible ? token : '•'.repeat(24)}>
      <IconButton
        size={28}
        label={isVisible ? 'Hide token' : 'Show token'}
        icon={isVisible ? <EyeOff size={14} aria-hidden /> : <Eye size={14} aria-hidden />}
        onClick={() => setIsVisible(!isVisible)}
      />
    </CopyField>
  )
}
