"""The forms of expressions, by kind: `{matrix}` stands for any matrix, `{device}` for a device, `{move}` for a move."""

from __future__ import annotations

from tests.differential.scope import Kind

FORMS: dict[Kind, str] = {
    "matrix": """
        ({matrix} {operator} {matrix})
        ({matrix} {operator} {matrix})
        ({matrix} {operator} {vector})
        ({vector} {operator} {matrix})
        ({matrix} {operator} {scalar})
        ({scalar} {operator} {matrix})
        ({matrix} {operator} 2)
        (-{matrix})
        ({matrix} @ {matrix})
        torch.mm({matrix}, {matrix})
        torch.matmul({matrix}, {matrix}.T)
        {matrix}.matmul({matrix})
        torch.einsum('ij,jk->ik', {matrix}, {matrix})
        torch.addmm({matrix}, {matrix}, {matrix})
        torch.bmm({matrix}.unsqueeze(0), {matrix}[None]).squeeze(0)
        torch.add({matrix}, {matrix}, alpha=2)
        torch.maximum({matrix}, {vector})
        torch.minimum({matrix}, {scalar})
        {matrix}.mul({scalar})
        {matrix}.pow(2)
        {matrix}.sub({matrix}).abs()
        torch.lerp({matrix}, {matrix}, 0.5)
        torch.lerp({matrix}, {matrix}, {scalar})
        torch.addcmul({matrix}, {matrix}, {matrix})
        torch.clamp({matrix}, min={matrix})
        {matrix}.clamp(min=0)
        torch.cat([{matrix}, {matrix}], dim=0)[:3]
        torch.cat(({matrix}, {matrix}), dim=1)[:, 3:]
        torch.cat(({matrix}[:1], {matrix}[1:]))
        torch.vstack([{vector}, {vector}, {vector}])
        torch.stack([{vector}, {vector}, {vector}])
        torch.stack([{vector}, {matrix}[0], {vector}], dim=1)
        torch.outer({vector}, {vector})
        torch.diag({vector})
        torch.where({matrix} > 0, {matrix}, {scalar})
        torch.where({mask}, {matrix}, {matrix})
        torch.where({matrix} > {matrix}, {matrix}, 0.5)
        F.linear({matrix}, {matrix}, {vector})
        F.linear({matrix}, {matrix})
        F.relu({matrix})
        F.softmax({matrix}, dim=1)
        F.normalize({matrix})
        F.dropout({matrix}, 0.1)
        F.layer_norm({matrix}, (3,), {vector}, {vector})
        F.embedding({index}, {matrix})
        F.one_hot({index}, 3).float()
        torch.sigmoid({matrix}).exp()
        torch.cdist({matrix}, {matrix})
        torch.tril({matrix})
        {matrix}.index_select(0, {index})
        {matrix}.gather(1, {index}.expand(3, 3))
        torch.gather({matrix}, 0, {index}[None].expand(3, -1))
        {matrix}.scatter(1, {index}[:, None], {matrix})
        {matrix}.index_add(0, {index}, {matrix})
        {matrix}[{index}]
        ({matrix}[{mask}].sum() * {matrix})
        {matrix}[:, {index}]
        {matrix}.masked_fill({mask}, {scalar})
        {matrix}.masked_fill({matrix} > 0, 0.0)
        torch.zeros_like({matrix})
        torch.full_like({matrix}, 2.0)
        torch.rand_like({matrix}, device={device})
        {matrix}.new_ones((3, 3))
        {matrix}.new_zeros(3, 3)
        {matrix}.new_full((3, 3), 1.5)
        {matrix}.new_tensor([[1.0, 2.0, 3.0]]).expand(3, 3)
        {matrix}.clone().detach()
        {matrix}.detach().requires_grad_()
        {matrix}.t().contiguous()
        {matrix}.flatten().view(3, 3)
        {vector}.expand(3, 3)
        {vector}.unsqueeze(1).repeat(1, 3)
        {scalar}.expand(3, 3)
        {matrix}.type_as({matrix})
        {matrix}.to(torch.float32)
        {matrix}.float().contiguous()
        {matrix}.to({matrix})
        {matrix}.to({matrix}.device)
        torch.ones({matrix}.shape, device={matrix}.device)
        torch.zeros({matrix}.size(0), 3, device={device})
        torch.rand(3, 3, device={matrix}.device, dtype={matrix}.dtype)
        torch.eye(3, device={device})
        torch.tensor([[1.0, 2.0, 3.0]] * 3, device={device})
        torch.as_tensor({matrix}, device={device})
        torch.from_numpy({matrix}.detach().cpu().numpy())
        torch.from_numpy({matrix}.detach().cpu().numpy()).to({device})
        torch.tensor({matrix}.detach().cpu().numpy(), device={device})
        {matrix}{move}
        {matrix}{move}
        ({matrix} if len(sys.argv) < 9 else {matrix})
        ({matrix} if {matrix}.is_cuda else {matrix}{move})
        {matrix}.max(dim=1, keepdim=True)[0].expand(3, 3)
        {matrix}.sort(dim=1).values
        torch.topk({matrix}, 3, dim=1)[0]
        ({matrix}.sum(dim=0, keepdim=True) + {matrix})
        ({matrix}.chunk(3)[0] + {matrix})
        (torch.split({matrix}, 1)[1] * {matrix})
        ({matrix}.unbind(0)[2] - {matrix})
        torch.meshgrid({vector}, {vector}, indexing='ij')[0]
        {module}({matrix})
        {module}({matrix})
        {module}({matrix})
        {module}({matrix}).relu()
        nn.Sequential({module}, {module})({matrix})
        {function}({matrix})
        {function}({matrix})
        {worker}.run({matrix})
        {matrices}[0]
        {matrices}[-1]
        {pair}[0]
        {pair}[1]
        {named}['a']
        {named}['b']
        {named}.get('a')
        {record}.image
        {record}.image
        sum({matrices})
        torch.stack({matrices}).sum(0)
        torch.cat({matrices})[:3]
        torch.stack([each for each in {matrices}]).mean(0)
        torch.stack(tuple({named}.values())).sum(0)
        {call:matrix}
        {call:matrix}
        {call:matrix}
    """,
    "vector": """
        ({vector} {operator} {vector})
        ({vector} * {scalar})
        ({scalar} - {vector})
        torch.maximum({vector}, {scalar})
        ({matrix} @ {vector})
        torch.mv({matrix}, {vector})
        torch.einsum('ij,j->i', {matrix}, {vector})
        (torch.dot({vector}, {vector}) * {vector})
        {matrix}.mean(dim=1)
        {matrix}.sum(-1)
        {matrix}.max(dim=1).values
        {matrix}.max(1)[0]
        {matrix}.norm(dim=0)
        {matrix}[0]
        {matrix}[:, 1]
        {matrix}[..., 0]
        {matrix}[-1, :]
        {matrix}.diagonal()
        {vector}[{index}]
        {matrix}[torch.arange(3), {index}]
        {matrix}[torch.arange(3, device={matrix}.device), {index}]
        torch.arange(3.0, device={vector}.device)
        torch.linspace(0, 1, 3, device={device})
        torch.tensor([1.0, 2.0, 3.0])
        torch.tensor([1.0, 2.0, 3.0], device={vector}.device)
        torch.cat([{vector}[:1], {vector}[1:]])
        torch.stack([{scalar}, {scalar}, {scalar}])
        torch.stack([each.mean() for each in ({matrix}, {matrix}, {matrix})])
        {vector}{move}
        {vector}.type_as({matrix})
        {vector}.new_tensor([1.0, 2.0, 3.0])
        F.softmax({vector}, dim=0)
        torch.where({mask}, {vector}, {vector})
        torch.where({mask}, {vector}, {scalar})
        {vector}.masked_fill({mask}, 0.0)
        {vector}.masked_fill({mask}, {scalar})
        F.cross_entropy({matrix}, {index}, reduction='none')
        F.mse_loss({vector}, {vector}, reduction='none')
        torch.bincount({index}, minlength=3).float()
        {matrix}.gather(1, {index}.unsqueeze(1)).squeeze(1)
        ({index} + 1).float()
        {mask}.float()
        {call:vector}
        {call:vector}
    """,
    "scalar": """
        {vector}.sum()
        {matrix}.mean()
        {matrix}.max()
        torch.norm({matrix})
        F.mse_loss({matrix}, {matrix})
        F.l1_loss({matrix}, {matrix})
        F.smooth_l1_loss({vector}, {vector})
        F.huber_loss({matrix}, {matrix})
        F.kl_div(F.log_softmax({matrix}, dim=1), F.softmax({matrix}, dim=1), reduction='batchmean')
        F.cross_entropy({matrix}, {index})
        F.cross_entropy({matrix}, {index}, weight={vector}.abs())
        F.nll_loss(F.log_softmax({matrix}, dim=1), {index})
        F.binary_cross_entropy_with_logits({matrix}, {matrix}.sigmoid())
        nn.CrossEntropyLoss()({matrix}, {index})
        nn.CrossEntropyLoss(weight=torch.ones(3)).to({device})({matrix}, {index})
        nn.MSELoss()({matrix}, {matrix})
        F.cosine_similarity({vector}, {vector}, dim=0)
        ({scalar} + {scalar})
        ({scalar} * {scalar})
        ({vector} @ {vector})
        torch.dot({vector}, {vector})
        {vector}[0]
        {matrix}[1, 2]
        {matrix}.sum(dim=1)[0]
        torch.tensor({vector}.sum().item())
        torch.tensor({scalar}.item(), device={device})
        {scalar}{move}
        {scalar}.clone()
        {vector}.max(dim=0).values
        {vector}.squeeze().prod()
        {call:scalar}
    """,
    "index": """
        {vector}.argsort()
        {matrix}.argmax(dim=1)
        {matrix}.max(dim=1)[1]
        {matrix}.min(dim=0).indices
        torch.argsort({vector}, descending=True)
        torch.arange(3, device={device})
        torch.arange(3, device={matrix}.device)
        torch.randint(0, 3, (3,), device={device})
        torch.randint(3, (3,)){move}
        {index}.flip(0)
        {index}[{index}]
        {index}{move}
        {record}.label
        (2 - {index})
        torch.where({mask}, {index}, 0)
        torch.where({mask}, {index}, {index})
        {matrix}.topk(1, dim=1).indices.squeeze(1)
        torch.multinomial(torch.ones(3, device={device}), 3)
    """,
    "mask": """
        ({vector} > 0.5)
        ({vector} > {vector})
        ({vector} <= {scalar})
        (~({vector} < 0))
        {vector}.isnan()
        ({matrix} > 0).any(dim=1)
        ({matrix} == {matrix}).all(dim=0)
        ({index} == {index})
        ({index} == 1)
        torch.isfinite({vector})
        ({mask} & {mask})
        ({mask} | {mask})
        torch.isclose({vector}, {vector})
        {mask}{move}
    """,
    "matrices": """
        [{matrix}, {matrix}]
        [{matrix}, {matrix}]
        list(({matrix}, {matrix}))
        [{matrix} for _ in range(2)]
        [each{move} for each in {matrices}]
        [each + {scalar} for each in {matrices}]
        [first + second for first, second in zip({matrices}, {matrices})]
        [each * (place + 1) for place, each in enumerate({matrices})]
        ({matrices} + [{matrix}])
        {matrices}[::-1]
        [{matrix}, *{matrices}]
        list({named}.values())
        list({pair})
        list(map({function}, {matrices}))
        sorted({matrices}, key=lambda each: each.sum().item())
        {call:matrices}
    """,
    "pair": """
        ({matrix}, {matrix})
        ({matrix}, {matrix})
        tuple([{matrix}, {matrix}])
        ({pair}[1], {pair}[0])
        tuple(each{move} for each in {pair})
        ({matrices}[0], {matrix})
        {call:pair}
        {call:pair}
    """,
    "named": """
        {{'a': {matrix}, 'b': {matrix}}}
        {{'a': {matrix}, 'b': {matrix}}}
        dict(a={matrix}, b={matrix})
        dict(zip(['a', 'b'], {pair}))
        {{key: each{move} for key, each in {named}.items()}}
        {{key: each{move} for key, each in {named}.items()}}
        {{key: each + {vector} for key, each in {named}.items()}}
        {{key: {matrix} for key in ('a', 'b')}}
        {{**{named}, 'b': {matrix}}}
        dict({named}, a={matrix})
    """,
    "function": """
        (lambda x: {within:x})
        (lambda x, y={matrix}: {within:x} + y)
        functools.partial(torch.add, {matrix})
        functools.partial(F.linear, weight={matrix})
        functools.partial(torch.mul, {scalar})
        F.relu
        torch.sigmoid
        {module}
        {call:function}
        {call:function}
        {call:function}
    """,
    "module": """
        nn.Linear(3, 3)
        nn.Linear(3, 3){move module}
        nn.Linear(3, 3, device={device})
        nn.Sequential(nn.Linear(3, 3), nn.ReLU()){move module}
        nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)){move module}
        nn.Sequential({module}, nn.Linear(3, 3)){move module}
        nn.ReLU()
        nn.Softmax(dim=1)
        nn.LayerNorm(3){move module}
        {made:module}{move module}
        {made:module}{move module}
        {made:module}{move module}
        {made:module}{move module}
        {made:module}
    """,
    "worker": """
        {made:worker}
    """,
    "record": """
        {made:record}
        {made:record}
    """,
}
