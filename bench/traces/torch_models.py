# SPDX-License-Identifier: Apache-2.0
"""Models with random weights, and work for them, for record_torch.py. Each function of MODELS builds one on the device,
does the work, keeps nothing, and returns its sizes. They are chosen for less than 2 GiB of memory, so that the traces
replay on a small machine, too: the host backend takes what a trace takes from the machine."""
import itertools

import torch
import torch.nn.functional as F
from torch import nn


def parameter_count(*modules):
    return sum(parameter.numel() for module in modules for parameter in module.parameters())


# -- a decoder: text generation --

def rotate(x, cosine, sine):
    """Rotary positions."""
    low, high = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-high, low), dim=-1) * sine


class Attention(nn.Module):
    def __init__(self, width, heads, key_heads):
        super().__init__()
        self.size = width // heads
        self.queries = nn.Linear(width, heads * self.size, bias=False)
        self.keys = nn.Linear(width, key_heads * self.size, bias=False)
        self.values = nn.Linear(width, key_heads * self.size, bias=False)
        self.out = nn.Linear(heads * self.size, width, bias=False)

    def forward(self, x, cosine, sine, cache):
        queries, keys, values = (project(x).unflatten(-1, (-1, self.size)).transpose(1, 2)
                                 for project in (self.queries, self.keys, self.values))
        queries, keys = rotate(queries, cosine, sine), rotate(keys, cosine, sine)
        if cache is not None:
            keys, values = torch.cat((cache[0], keys), dim=2), torch.cat((cache[1], values), dim=2)
        y = F.scaled_dot_product_attention(queries, keys, values, is_causal=cache is None, enable_gqa=True)
        return self.out(y.transpose(1, 2).flatten(2)), (keys, values)


class GatedLayer(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class DecoderBlock(nn.Module):
    def __init__(self, width, heads, key_heads, inner):
        super().__init__()
        self.attention_norm, self.attention = nn.RMSNorm(width), Attention(width, heads, key_heads)
        self.gated_norm, self.gated = nn.RMSNorm(width), GatedLayer(width, inner)

    def forward(self, x, cosine, sine, cache):
        y, cache = self.attention(self.attention_norm(x), cosine, sine, cache)
        x = x + y
        return x + self.gated(self.gated_norm(x)), cache


class Decoder(nn.Module):
    def __init__(self, words, width, heads, key_heads, inner, layers):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(DecoderBlock(width, heads, key_heads, inner) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, words, bias=False)
        self.half = width // heads // 2

    def forward(self, tokens, caches):
        """Logits of what follows; the caches, a pair of tensors a layer, grow by these tokens."""
        first = 0 if caches[0] is None else caches[0][0].shape[2]
        x = self.embedding(tokens)
        positions = torch.arange(first, first + tokens.shape[1], device=tokens.device)
        rates = 10000.0 ** (-torch.arange(self.half, device=tokens.device) / self.half)
        angles = (positions[:, None] * rates).repeat(1, 2)
        cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for index, block in enumerate(self.blocks):
            x, caches[index] = block(x, cosine, sine, caches[index])
        return self.head(self.norm(x[:, -1]))


def sample(logits, most=50):
    """One token of the likeliest ones for each row."""
    values, tokens = logits.float().topk(most)
    return tokens.gather(1, torch.multinomial(values.softmax(-1), 1))


# Sequences at once, tokens of the prompt, tokens to generate.
REQUESTS = ((1, 37, 7), (4, 512, 6), (1, 2048, 5), (8, 100, 6), (2, 900, 5), (16, 260, 4), (1, 1, 3), (3, 1500, 4))


@torch.inference_mode()
def decoder(device, words=32000, width=1024, heads=16, key_heads=8, inner=2816, layers=8, requests=REQUESTS):
    """text generation: prompts of several lengths, each followed by some tokens, with a key-value cache that grows by
    concatenation; bfloat16"""
    torch.set_default_dtype(torch.bfloat16)
    with torch.device(device):
        model = Decoder(words, width, heads, key_heads, inner, layers).eval()
    torch.set_default_dtype(torch.float32)
    for sequences, prompt, more in requests:
        tokens, caches = torch.randint(words, (sequences, prompt), device=device), [None] * layers
        for _ in range(1 + more):
            tokens = sample(model(tokens, caches))
        tokens.cpu()
    return {"parameters": parameter_count(model), "words": words, "width": width, "heads": heads,
            "key_heads": key_heads, "inner": inner, "layers": layers, "requests": requests}


# -- a residual network: training on images --

def convolution(inputs, outputs, size, stride=1):
    return [nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs)]


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.path = nn.Sequential(*convolution(inputs, width, 1), nn.ReLU(True),
                                  *convolution(width, width, 3, stride), nn.ReLU(True),
                                  *convolution(width, 4 * width, 1))
        is_same = stride == 1 and inputs == 4 * width
        self.shortcut = nn.Identity() if is_same else nn.Sequential(*convolution(inputs, 4 * width, 1, stride))

    def forward(self, x):
        return torch.relu_(self.path(x) + self.shortcut(x))


class ResidualNetwork(nn.Module):
    """With 64 and 3, 4, 6, 3: the one of 50 layers."""

    def __init__(self, width, blocks, classes):
        super().__init__()
        layers, inputs = [*convolution(3, width, 7, 2), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)], width
        for stage, count in enumerate(blocks):
            for block in range(count):
                layers.append(Bottleneck(inputs, width << stage, 2 if stage > 0 and block == 0 else 1))
                inputs = 4 * width << stage
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))

    def forward(self, x):
        return self.layers(x)


def images_on_host(batches, size, classes):
    for count in batches:
        yield (torch.randint(256, (count, 3, size, size), dtype=torch.uint8).pin_memory(),
               torch.randint(classes, (count,)).pin_memory())


def prefetched(batches, device, side):
    """The batches, each copied and converted on the stream `side` while the one before it is worked on."""
    main, ahead = torch.cuda.current_stream(), None

    def fetch(images, labels):
        with torch.cuda.stream(side):
            images = images.to(device, non_blocking=True).to(torch.float32, memory_format=torch.channels_last)
            return images.sub_(127.5).div_(64), labels.to(device, non_blocking=True)

    for batch in itertools.chain(batches, [None]):
        arrived = ahead
        main.wait_stream(side)
        ahead = None if batch is None else fetch(*batch)
        if arrived is not None:
            for tensor in arrived:
                tensor.record_stream(main)
            yield arrived


def resnet(device, width=64, blocks=(3, 4, 6, 3), classes=1000, size=160, epochs=2, training=(24, 24, 24, 9),
           evaluation=(48, 30)):
    """training of a residual network of 50 layers, with momentum: epochs whose last batch is smaller, and an evaluation
    after each; mixed precision, batches prefetched on a second stream, with record_stream"""
    with torch.device(device):
        model = ResidualNetwork(width, blocks, classes).to(memory_format=torch.channels_last)
        total = torch.zeros(())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    kind, side = torch.device(device).type, torch.cuda.Stream()
    for _ in range(epochs):
        model.train()
        for images, labels in prefetched(images_on_host(training, size, classes), device, side):
            optimizer.zero_grad()
            with torch.autocast(kind, torch.bfloat16):
                loss = F.cross_entropy(model(images), labels, label_smoothing=0.1)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        model.eval()
        with torch.inference_mode(), torch.autocast(kind, torch.bfloat16):
            right = torch.zeros((), dtype=torch.int64, device=device)
            for images, labels in prefetched(images_on_host(evaluation, size, classes), device, side):
                right += (model(images).argmax(1) == labels).sum()
            right.item()
    total.item()
    return {"parameters": parameter_count(model), "width": width, "blocks": blocks, "classes": classes, "size": size,
            "epochs": epochs, "training": training, "evaluation": evaluation}


# -- a ranking model: embeddings and histories, on two streams --

def layers_of(sizes):
    pairs = [(nn.Linear(inputs, outputs), nn.ReLU(True)) for inputs, outputs in zip(sizes, sizes[1:])]
    return nn.Sequential(*itertools.chain(*pairs[:-1], pairs[-1][:1]))


class Tables(nn.Module):
    """The sparse half: bags of each table, and what attention makes of the history, a row each."""

    def __init__(self, tables, rows, width):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.items = nn.Embedding(rows, width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, bags, history, lengths):
        x = self.items(history)
        present = torch.arange(history.shape[1], device=x.device) < lengths[:, None]
        y = F.scaled_dot_product_attention(self.query(x)[:, None], self.key(x)[:, None], self.value(x)[:, None],
                                           attn_mask=present[:, None, None])[:, 0]
        pooled = (y * present[..., None]).sum(1) / lengths[:, None]
        return [pooled] + [bag(*indices) for bag, indices in zip(self.bags, bags)]


class Ranker(nn.Module):
    """The dense half."""

    def __init__(self, tables, width, features):
        super().__init__()
        rows = tables + 2
        self.bottom = layers_of((features, 512, 256, width))
        self.top = layers_of((width + rows * (rows - 1) // 2, 1024, 512, 1))
        self.register_buffer("pairs", torch.triu_indices(rows, rows, 1))

    def forward(self, dense, rows):
        rows = torch.stack([dense, *rows], dim=1)
        products = rows @ rows.transpose(1, 2)
        return self.top(torch.cat((dense, products[:, self.pairs[0], self.pairs[1]]), dim=1)).sigmoid()


def ranking_request(count, longest, tables, rows, features):
    """Inputs on the host: features, bags as indices and offsets, histories and their lengths."""
    def bag():
        sizes = torch.randint(1, 20, (count,))
        return torch.randint(rows, (int(sizes.sum()),)), sizes.cumsum(0) - sizes
    lengths = torch.randint(1, longest + 1, (count,))
    return (torch.rand(count, features), [bag() for _ in range(tables)],
            torch.randint(rows, (count, int(lengths.max()))), lengths)


@torch.inference_mode()
def ranker(device, tables=8, rows=50000, width=64, features=64, requests=100, most=1024, longest=200):
    """inference of a ranking model: requests of many sizes, each with bags of embeddings and histories on one stream
    and dense layers on another, which uses the first one's results, with record_stream"""
    with torch.device(device):
        sparse, dense = Tables(tables, rows, width).eval(), Ranker(tables, width, features).eval()
    sparse_stream, dense_stream = torch.cuda.Stream(), torch.cuda.Stream()
    sparse_stream.wait_stream(torch.cuda.current_stream())
    dense_stream.wait_stream(torch.cuda.current_stream())

    def move(tensor):
        return tensor.pin_memory().to(device, non_blocking=True)

    for number in range(requests):
        count = int(2 ** (torch.rand(()).item() * torch.tensor(most).log2().item()))
        numbers, bags, history, lengths = ranking_request(count, longest, tables, rows, features)
        with torch.cuda.stream(sparse_stream):
            found = sparse([(move(indices), move(offsets)) for indices, offsets in bags], move(history), move(lengths))
        with torch.cuda.stream(dense_stream):
            bottom = dense.bottom(move(numbers))
            dense_stream.wait_stream(sparse_stream)
            for tensor in found:
                tensor.record_stream(dense_stream)
            best = dense(bottom, found).flatten().topk(min(count, 10)).indices
            if number % 4 == 3:
                best.cpu()
        del found, bottom, best
    return {"parameters": parameter_count(sparse, dense), "tables": tables, "rows": rows, "width": width,
            "features": features, "requests": requests, "most": most, "longest": longest}


MODELS = {function.__name__: function for function in (decoder, resnet, ranker)}
